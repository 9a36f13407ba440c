/** Prints a seed or a figure from a test in the long run. An ordinary run prints nothing about passing tests. */
export function note(text: string): void {
  if (process.env.TIDEGATE_LONG === '1') console.info(text)
}
