/** Counts the words of comments, of pages and of the texts in the sources, for the ratchet on how sentences are made. */
import ts from 'typescript'
import { eachNode, type SourceTree } from './source-tree.ts'

export interface Counts {
  words: number
  of: number
  that: number
  semicolons: number
}

export type Measure = 'of' | 'that' | 'semicolons'

/** Per 1,000 words, as the documentation of projects that engineers recommend has them. */
export const GOALS: Readonly<Record<Measure, number>> = { of: 22, that: 12, semicolons: 6 }

/** Texts with fewer words are names and fragments. */
const TEXT_WORDS_MIN = 5

/** Code is not language: what stands in backticks, in fenced and in indented blocks, and the targets of links. */
function withoutCode(text: string): string {
  return text
    .replace(/```.*?```/gs, ' ')
    .replace(/^ {4,}.*$/gm, ' ')
    .replace(/`[^`]*`/g, ' ')
    .replace(/\]\([^)]*\)/g, ' ')
    .replace(/&\w+;/g, ' ')
}

export function countText(counts: Counts, text: string): void {
  const words = text.match(/[A-Za-z']+/g) ?? []
  counts.words += words.length
  for (const word of words) {
    if (/^of$/i.test(word)) counts.of++
    else if (/^that$/i.test(word)) counts.that++
  }
  counts.semicolons += text.match(/;/g)?.length ?? 0
}

export function noCounts(): Counts {
  return { words: 0, of: 0, that: 0, semicolons: 0 }
}

export function countPage(counts: Counts, page: string): void {
  countText(counts, withoutCode(page))
}

/** The comments of a file of TypeScript or JavaScript. */
export function countComments(counts: Counts, text: string): void {
  for (const [comment] of text.matchAll(/\/\*.*?\*\/|(?<=^|\s)\/\/[^\n]*/gs)) {
    countText(counts, comment.replace(/^\s*\*/gm, '').replace(/`[^`]*`/g, ' '))
  }
}

/** Queries, the statements of migrations, and style sheets. */
const CODE = [
  /\b(select|insert|update|delete|where|from)\b.*\b(from|into|set|and|as|order)\b/is,
  /^\s*(--.*\n\s*)*(create|alter|drop) (table|index|unique index)\b/i,
  /\{[^{}]*[a-z-]+:[^{};]+;/,
]

/** Errors, descriptions and help texts: the string literals of a tree that are sentences. */
export function countTexts(counts: Counts, tree: SourceTree): void {
  for (const file of tree.values()) {
    eachNode(file, (node) => {
      if (!ts.isStringLiteralLike(node) && node.kind !== ts.SyntaxKind.TemplateHead) return
      const { text } = node as ts.LiteralLikeNode
      if ((text.match(/[A-Za-z']+/g) ?? []).length < TEXT_WORDS_MIN) return
      if (!CODE.some((form) => form.test(text))) countText(counts, text)
    })
  }
}

/** Per 1,000 words, rounded up to a tenth. */
export function rateOf(counts: Counts, measure: Measure): number {
  return counts.words === 0 ? 0 : Math.ceil((10_000 * counts[measure]) / counts.words) / 10
}
