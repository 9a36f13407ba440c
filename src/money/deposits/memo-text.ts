/**
 * Finds possible memos in a bank transfer's free text. Banks change case, break lines and add blanks and punctuation,
 * so only letters and digits are compared. The caller looks up which candidates are memos.
 */
import { MEMO_LENGTH, MEMO_LETTERS } from '../deposit-instructions/fiat-instructions.ts'

const NO_MEMO_LETTER = new RegExp(`[^${MEMO_LETTERS}]`)

/** The text in upper case, reduced to letters and digits. */
export function plainMemo(text: string): string {
  return text.toUpperCase().replaceAll(/[^0-9A-Z]/g, '')
}

/** All parts of the text with a memo's length and letters, each once. */
export function memoCandidates(text: string): readonly string[] {
  const plain = plainMemo(text)
  const candidates = new Set<string>()
  for (let start = 0; start + MEMO_LENGTH <= plain.length; start++) {
    const candidate = plain.slice(start, start + MEMO_LENGTH)
    if (!NO_MEMO_LETTER.test(candidate)) candidates.add(candidate)
  }
  return [...candidates]
}
