import { expect, it } from 'vitest'
import { type LargeReading, PublisherInbox } from '../../../../src/streaming/sources/tidegate/publisher-inbox.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

/** A clock of which every reading takes 1 ms: four steps are done in a tick. */
class BusyClock extends VirtualClock {
  #reads = 0

  override monotonicMilliseconds(): number {
    this.#reads += 1
    return super.monotonicMilliseconds() + this.#reads
  }

  /** Ends one tick. */
  tick(): void {
    for (const callback of this.callbacks.splice(0)) callback()
  }

  readonly callbacks: (() => void)[] = []

  override endOfTick(callback: () => void): void {
    this.callbacks.push(callback)
  }
}

const STEPS = 10
const large = (name: string): string => name.padEnd(70_000)

function open() {
  const clock = new BusyClock()
  const log: string[] = []
  function* readInParts(text: string): LargeReading {
    const name = text.trimEnd()
    for (let step = 1; step < STEPS; step++) yield
    return () => {
      log.push(`large ${name}`)
      if (name === 'end') inbox.clear()
    }
  }
  const inbox: PublisherInbox = new PublisherInbox({
    clock,
    connection: { pause: () => log.push('pause'), resume: () => log.push('resume') },
    onMessage: (text) => {
      log.push(text)
      if (text === 'end') inbox.clear()
    },
    readInParts,
  })
  return { clock, log, inbox }
}

it("the publisher's inbox returns messages in order, and reads the connection again when none waits", () => {
  const { clock, log, inbox } = open()
  for (const text of ['a', large('b'), 'c', large('d'), 'e']) inbox.receive(text)
  expect(log).toEqual(['a', 'pause'])
  let ticks = 0
  for (; clock.callbacks.length > 0; ticks++) clock.tick()
  expect(log).toEqual(['a', 'pause', 'large b', 'c', 'large d', 'e', 'resume'])
  // Ten steps of each, at most four in a tick.
  expect(ticks).toBeGreaterThanOrEqual(6)
  inbox.receive('f')
  expect(log.at(-1)).toBe('f')
})

it.each([
  ['before the message is complete', [large('b'), 'c'], true, ['pause']],
  ['by the message itself', [large('end'), 'c', large('d')], false, ['pause', 'large end', 'resume']],
  ['by a message after it', [large('b'), 'end', 'c'], false, ['pause', 'large b', 'end', 'resume']],
])("the publisher's inbox returns nothing more of a connection that ended %s", (_when, texts, isCleared, expected) => {
  const { clock, log, inbox } = open()
  for (const text of texts) inbox.receive(text)
  clock.tick()
  if (isCleared) inbox.clear()
  while (clock.callbacks.length > 0) clock.tick()
  expect(log).toEqual(expected)
})
