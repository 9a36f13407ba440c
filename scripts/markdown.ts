/** The parts shared by all generated pages in docs/reference. */

/** A generated page's first line. */
export const NOTICE = '<!-- Generated from the code by `npm run docs`. -->'

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}
