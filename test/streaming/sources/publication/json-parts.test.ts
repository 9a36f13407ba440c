/** The parser of large texts gives the result of `JSON.parse`, for right and for damaged texts. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { NotUtf8, parseJsonInParts } from '../../../../src/streaming/sources/publication/json-parts.ts'
import { propertySettings } from '../../../support/property.ts'

interface Outcome {
  readonly value?: unknown
  readonly isRefused: boolean
  readonly steps: number
}

function inParts(bytes: Buffer): Outcome {
  const parts = parseJsonInParts(bytes)
  for (let steps = 1; ; steps++) {
    try {
      const { done, value } = parts.next()
      if (done === true) return { value, isRefused: false, steps }
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof NotUtf8) return { isRefused: true, steps }
      throw error
    }
  }
}

function atOnce(text: string): Omit<Outcome, 'steps'> {
  try {
    return { value: JSON.parse(text), isRefused: false }
  } catch {
    return { isRefused: true }
  }
}

/** Longer than a part, so that a list is divided at each of its commas. */
const PADDING = ' '.repeat(40_000)
const PADDED_MAX = 8
const name = fc.constantFrom('bids', 'asks', '__proto__', 'a"],[', 'é')
const leaf = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('],[', '\\', '"}', 'é\u2028', -0))
const list = fc.array(leaf, { maxLength: 4 })
const member = fc.oneof(leaf, list, fc.dictionary(name, fc.oneof(list, leaf)))

/** A message as text, with spaces between some of the tokens, and a few characters replaced, added or left out. */
const texts = fc
  .record({
    value: fc.oneof(fc.dictionary(name, member), fc.array(member, { maxLength: 3 }), leaf),
    padded: fc.array(fc.nat(9), { minLength: 1, maxLength: 5 }),
    damage: fc.array(
      fc.record({ at: fc.nat(), remove: fc.nat(1), add: fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', '0') }),
      { maxLength: 2 },
    ),
  })
  .map(({ value, padded, damage }) => {
    let text = JSON.stringify(value)
    for (const { at, remove, add } of damage) {
      const place = at % (text.length + 1)
      text = text.slice(0, place) + add + text.slice(place + remove)
    }
    let comma = 0
    // A comma may stand in a text: spaces there are part of it.
    return text.replace(/,/g, () => {
      const kind = comma < PADDED_MAX ? padded[comma++ % padded.length]! : 9
      return kind < 3 ? `,${PADDING}` : kind < 6 ? `${PADDING},` : ','
    })
  })

it('reading JSON in parts returns the same value as JSON.parse, or refuses the same text', () => {
  let divided = 0
  let refused = 0
  const property = fc.property(texts, (text) => {
    const { steps, ...outcome } = inParts(Buffer.from(text))
    expect(outcome).toStrictEqual(atOnce(text))
    if (steps > 2) divided++
    if (outcome.isRefused) refused++
  })
  fc.assert(property, propertySettings(100))
  expect(divided).toBeGreaterThan(15)
  expect(refused).toBeGreaterThan(15)
})

it('a long list is read in many steps, and invalid UTF-8 is refused', () => {
  const entries = Array.from({ length: 20_000 }, (_, index) => ({ price: `${index}.00`, amount: '1' }))
  const text = JSON.stringify({ channel: 'é', payload: { bids: entries, asks: [] } })
  const { value, steps } = inParts(Buffer.from(text))
  expect(value).toEqual(JSON.parse(text))
  expect(steps).toBeGreaterThan(15)
  expect(inParts(Buffer.from(text, 'latin1')).isRefused).toBe(true)
})
