/** Prints a seed or a figure of a test in the long run; an ordinary run prints nothing about tests that pass. */
export function note(text: string): void {
  if (process.env.TIDEGATE_LONG === '1') console.info(text)
}
