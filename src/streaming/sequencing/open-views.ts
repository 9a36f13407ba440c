/** The views of one book that have subscribers, by their depth; each follows the book from its opening to its closing. */
import type { Book } from '../market/book.ts'
import type { AppliedChange, LevelChange } from '../market/event.ts'
import { View } from '../market/view.ts'

/** The changes of each view, by depth. */
export type ChangesByDepth = ReadonlyMap<number, readonly LevelChange[]>

const NO_CHANGES: ChangesByDepth = new Map()

export class OpenViews {
  readonly #book: Book
  readonly #views = new Map<number, View>()

  constructor(book: Book) {
    this.#book = book
  }

  get size(): number {
    return this.#views.size
  }

  /** Opens the view of `depth` levels per side (0 = all) at a version, unless it is open. */
  open(depth: number, version: number): View {
    let view = this.#views.get(depth)
    if (view === undefined) {
      view = new View(this.#book, depth)
      view.reset(version)
      this.#views.set(depth, view)
    }
    return view
  }

  close(depth: number): void {
    this.#views.delete(depth)
  }

  /** Moves the views to a version by the changes of the book; undefined when it was replaced. */
  move(version: number, applied: readonly AppliedChange[] | undefined): ChangesByDepth {
    if (this.#views.size === 0) return NO_CHANGES
    const changesByDepth = new Map<number, readonly LevelChange[]>()
    for (const [depth, view] of this.#views) changesByDepth.set(depth, moveView(view, version, applied))
    return changesByDepth
  }
}

/** Moves a view to a version by the changes of the book, or resets it when the book was replaced (undefined). */
export function moveView(
  view: View,
  version: number,
  applied: readonly AppliedChange[] | undefined,
): readonly LevelChange[] {
  if (applied !== undefined) return view.advance(version, applied)
  view.reset(version)
  return []
}
