/**
 * What the parsers of several venues share: why a frame is unreadable, which channel and pair a malformed frame names, and
 * levels in their usual form. A frame that names exactly one channel and one pair requires a resync of that pair only; a
 * frame that names none, or several, may have changed any book. Nothing throws. Pure.
 */
import type { VenueLevel } from './venue.ts'

/** Why a frame that is not JSON is unreadable. The message of the error is left out: it quotes the frame. */
export function notJson(error: unknown): string {
  return `not JSON: ${error instanceof Error ? error.name : 'unknown error'}`
}

/** Levels that are lists of price, amount and members that are not used; undefined where one is not readable. */
export function readLevelPairs(value: unknown): VenueLevel[] | undefined {
  if (!Array.isArray(value)) return undefined
  const levels: VenueLevel[] = []
  for (const level of value as unknown[]) {
    if (!Array.isArray(level)) return undefined
    const [price, amount] = level as unknown[]
    if (typeof price !== 'string' || typeof amount !== 'string') return undefined
    levels.push({ price, amount })
  }
  return levels
}

/**
 * The text captured by the first group of a global pattern when every match captures the same text; otherwise
 * undefined.
 */
export function onlyCapture(text: string, pattern: RegExp): string | undefined {
  let captured: string | undefined
  for (const match of text.matchAll(pattern)) {
    if (captured !== undefined && match[1] !== captured) return undefined
    captured = match[1]
  }
  return captured
}
