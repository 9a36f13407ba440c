/**
 * A timer wheel: visits every member once per period, spread over 20 ms slots, because ten thousand writes in one tick
 * would stall the event loop for tens of milliseconds. Two visits to a member are a period apart, give or take a slot.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'

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
      // Slots that passed while the wheel was empty are not visited.
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
    return this.#clock.schedule(due - this.#clock.monotonicMilliseconds(), () => this.#advance())
  }

  #advance(): void {
    this.#timer = undefined
    const passed = this.#slotsPassed()
    // After a stall no slot is visited twice: a late heartbeat is sent once.
    const from = Math.max(this.#visited, passed - this.#slots.length)
    for (let slot = from; slot < passed; slot++) {
      const members = this.#slots[slot % this.#slots.length] as Set<Member>
      if (members.size > 0) this.#visit(members)
    }
    this.#visited = passed
    if (this.#slotOf.size > 0) this.#timer ??= this.#scheduleNext()
  }
}
