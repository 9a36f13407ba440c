/**
 * Shared by several venues' parsers: why a frame is unreadable, which channel and pair a malformed frame names, and
 * levels in their usual form. A frame with exactly one channel and one pair requires a resync for this pair only. A
 * frame with none, or several, may have changed any book. Nothing throws. Pure.
 */
import type { VenueLevel } from './venue.ts'

/** Why a frame is unreadable that is not JSON. The error's message is left out, because it quotes the frame. */
export function notJson(error: unknown): string {
  return `not JSON: ${error instanceof Error ? error.name : 'unknown error'}`
}

/** Levels as lists with price, amount and unused members; undefined where one is not readable. */
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

/** The text captured by a global pattern's first group when all matches capture the same text; otherwise undefined. */
export function onlyCapture(text: string, pattern: RegExp): string | undefined {
  let captured: string | undefined
  for (const match of text.matchAll(pattern)) {
    if (captured !== undefined && match[1] !== captured) return undefined
    captured = match[1]
  }
  return captured
}
