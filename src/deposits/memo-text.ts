/**
 * Memos inside the free text of a bank: banks change case, break lines and add blanks and punctuation, so only letters
 * and digits count. Every place of the text where a memo could stand is a candidate; the store knows which are memos.
 * Pure.
 */
import { MEMO_LENGTH, MEMO_LETTERS } from '../deposit-instructions/fiat-instructions.ts'

const NO_MEMO_LETTER = new RegExp(`[^${MEMO_LETTERS}]`)

/** Upper case, letters and digits alone. */
export function plainMemo(text: string): string {
  return text.toUpperCase().replaceAll(/[^0-9A-Z]/g, '')
}

/** The texts that could be memos, each once. */
export function memoCandidates(text: string): readonly string[] {
  const plain = plainMemo(text)
  const candidates = new Set<string>()
  for (let start = 0; start + MEMO_LENGTH <= plain.length; start++) {
    const candidate = plain.slice(start, start + MEMO_LENGTH)
    if (!NO_MEMO_LETTER.test(candidate)) candidates.add(candidate)
  }
  return [...candidates]
}
