/**
 * What a frame that cannot be parsed still names. A frame that names one channel and one pair is of that pair, so only
 * that pair has to be resynchronised; a frame that names none, or several, may have changed any book. Pure.
 */

/** The text that the first group of a global pattern captures, where every match captures the same; else nothing. */
export function onlyCapture(text: string, pattern: RegExp): string | undefined {
  let captured: string | undefined
  for (const match of text.matchAll(pattern)) {
    if (captured !== undefined && match[1] !== captured) return undefined
    captured = match[1]
  }
  return captured
}
