/**
 * Spreads what every member gets once a period over slots of 20 ms, because ten thousand writes in one turn would stall
 * the loop for tens of milliseconds. A member's distance between two visits is the period, up to one slot.
 */
import type { Clock, Timer } from '../base/clock.ts'

const SLOT_MILLISECONDS = 20

export class Wheel<Member> {
  readonly #clock: Clock
  readonly #visit: (members: ReadonlySet<Member>) => void
  readonly #slots: Set<Member>[]
  readonly #slotOf = new Map<Member, number>()
  readonly #originMilliseconds: number
  #visited = 0
  #nextSlot = 0
  #timer: Timer | undefined

  constructor(clock: Clock, periodMilliseconds: number, visit: (members: ReadonlySet<Member>) => void) {
    this.#clock = clock
    this.#visit = visit
    const slotCount = Math.max(1, Math.round(periodMilliseconds / SLOT_MILLISECONDS))
    this.#slots = Array.from({ length: slotCount }, () => new Set<Member>())
    this.#originMilliseconds = clock.monotonicMilliseconds()
  }

  get size(): number {
    return this.#slotOf.size
  }

  add(member: Member): void {
    if (this.#slotOf.has(member)) return
    this.#slots[this.#nextSlot]?.add(member)
    this.#slotOf.set(member, this.#nextSlot)
    this.#nextSlot = (this.#nextSlot + 1) % this.#slots.length
    if (this.#timer === undefined) {
      // Nobody was here: what the empty wheel did not visit is not made up for.
      this.#visited = this.#slotsPassed()
      this.#timer = this.#scheduleNext()
    }
  }

  remove(member: Member): void {
    const slot = this.#slotOf.get(member)
    if (slot === undefined) return
    this.#slots[slot]?.delete(member)
    this.#slotOf.delete(member)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#slotOf.clear()
    for (const slot of this.#slots) slot.clear()
  }

  #slotsPassed(): number {
    return Math.floor((this.#clock.monotonicMilliseconds() - this.#originMilliseconds) / SLOT_MILLISECONDS)
  }

  #scheduleNext(): Timer {
    const due = this.#originMilliseconds + (this.#slotsPassed() + 1) * SLOT_MILLISECONDS
    return this.#clock.schedule(due - this.#clock.monotonicMilliseconds(), () => this.#turn())
  }

  #turn(): void {
    this.#timer = undefined
    const passed = this.#slotsPassed()
    // After a stall no slot is visited twice: a beat that is late is one beat, not several.
    const from = Math.max(this.#visited, passed - this.#slots.length)
    for (let slot = from; slot < passed; slot++) {
      const members = this.#slots[slot % this.#slots.length] as Set<Member>
      if (members.size > 0) this.#visit(members)
    }
    this.#visited = passed
    if (this.#slotOf.size > 0) this.#timer ??= this.#scheduleNext()
  }
}
