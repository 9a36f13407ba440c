/** Faults in books, executions and their delivery. */
import type { Fault } from './fault.ts'

export const STREAMING_FAULTS: readonly Fault[] = [
  {
    name: 'lost-update',
    wrong: 'The first of two messages in one tick is missing from the commit.',
    file: 'src/streaming/sequencing/sequencer.ts',
    text: 'if (earlier !== undefined) this.#rememberPublished(earlier)',
    replacement: '',
    suite: 'test/streaming/sequencing/sequencer.test.ts',
  },
  {
    name: 'forgotten-delete',
    wrong: 'A level that leaves a view at its edge is not removed from it.',
    file: 'src/streaming/market/view.ts',
    text: 'entering ? 0 : amount, entering ? amount : 0)',
    replacement: 'entering ? 0 : amount, amount)',
    suite: 'test/streaming/market/view.test.ts',
  },
  {
    name: 'journal-off-by-one',
    wrong: 'The journal counts the requested version itself among the later ones.',
    file: 'src/streaming/market/journal.ts',
    text: '& this.#mask]! > version) high = middle',
    replacement: '& this.#mask]! >= version) high = middle',
    suite: 'test/streaming/market/journal.test.ts',
  },
  {
    name: 'amount-after',
    wrong: "The journal records a level's amount after the change instead of before it.",
    file: 'src/streaming/market/view.ts',
    text: 'this.#journal.record(side, price, before)',
    replacement: 'this.#journal.record(side, price, amount)',
    suite: 'test/streaming/market/view.test.ts',
  },
  {
    name: 'epoch-mixed',
    wrong: 'A cursor from an earlier epoch is accepted in the present one.',
    file: 'src/streaming/sequencing/cursor.ts',
    text: 'this.#depth, id, ...(this.#isAttributed',
    replacement: 'this.#depth, ...(this.#isAttributed',
    suite: 'test/streaming/sequencing/cursor.test.ts',
  },
]
