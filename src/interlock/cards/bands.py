"""The bands of the queue, in the order in which attention is worth spending, and what each means."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.domain.interrupt import Band


@dataclass(frozen=True, slots=True)
class BandWords:
    """A band for people: its key in JSON and addresses, its title, and what it means."""

    key: str
    title: str
    meaning: str


BANDS = {
    Band.IN_DOUBT: BandWords("in_doubt", "In doubt", "started, and nobody knows whether it happened"),
    Band.IRREVERSIBLE: BandWords("irreversible", "Irreversible", "once it runs, nobody can take it back"),
    Band.COSTLY: BandWords("costly", "Costly", "can be made good by another act, at a price"),
    Band.QUESTION: BandWords("question", "Questions", "an agent waits for an answer"),
    Band.OBSERVED: BandWords("observed", "Observed", "a framework pauses by itself; the answer is passed on"),
    Band.PROCEEDS: BandWords("proceeds", "Goes ahead unless stopped", "silence lets it run when its time is over"),
    Band.OTHER: BandWords("other", "The rest", "can be undone"),
}
KEYS = {words.key: band for band, words in BANDS.items()}
