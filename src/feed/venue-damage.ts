/**
 * Finds the channel and the pair that a malformed frame names. A frame that names exactly one channel and one pair
 * requires a resync of that pair only; a frame that names none, or several, may have changed any book. Pure.
 */

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
