/**
 * Parses YAML (and JSON, which is YAML) as plain values. No other file imports the library. For any text, the time and
 * the result's size are limited, and the result has no cycles: the library's time is quadratic in a mapping's keys and
 * in the number of aliases, and it resolves an alias that refers to itself.
 */
import { type Document, isScalar, parseDocument, visit } from 'yaml'

export type YamlResult = { readonly value: unknown } | { readonly problem: string }

/** Enough for 5,000 markets, which take 0.7 s. */
const CHARACTERS_MAX = 1_048_576
/** Aliases in a text. For each, the library searches the whole document. */
const ALIASES_MAX = 100
/** Values after resolving all aliases, and nesting levels. */
const VALUES_MAX = 100_000
const LEVELS_MAX = 64

/**
 * A document as plain values. `problem` names the first error's place, and never quotes the text, which may contain a
 * secret.
 */
export function readYaml(text: string): YamlResult {
  if (text.length > CHARACTERS_MAX) return { problem: `is longer than ${CHARACTERS_MAX} characters` }
  try {
    // Repeated keys are detected below, because the library compares each key with all others in its mapping.
    const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false })
    const [mistake] = document.errors
    if (mistake !== undefined) return notValid(text, mistake.pos[0], mistake.code.toLowerCase().replaceAll('_', ' '))
    const { aliases, repeatedKey } = inspect(document)
    if (repeatedKey !== undefined) return notValid(text, repeatedKey, 'duplicate key')
    if (aliases > ALIASES_MAX) return { problem: `has more than ${ALIASES_MAX} aliases` }
    const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX })
    const problem = sizeProblem(value)
    return problem === undefined ? { value } : { problem }
  } catch (error) {
    return { problem: `is not usable YAML (${error instanceof Error ? error.name : 'unknown'})` }
  }
}

function notValid(text: string, position: number, what: string): YamlResult {
  const line = text.slice(0, position).split('\n').length
  return { problem: `line ${line} is not valid YAML (${what})` }
}

/** The number of aliases, and the first repeated key's position. */
function inspect(document: Document): { readonly aliases: number; readonly repeatedKey: number | undefined } {
  let aliases = 0
  let repeatedKey: number | undefined
  visit(document, {
    Alias() {
      aliases++
    },
    Map(_key, { items }) {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) {
          repeatedKey = key.range?.[0] ?? 0
          return visit.BREAK
        }
        keys.add(key.value)
      }
      return undefined
    },
  })
  return { aliases, repeatedKey }
}

function sizeProblem(root: unknown): string | undefined {
  const open: { readonly value: unknown; readonly level: number }[] = [{ value: root, level: 1 }]
  let values = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, level } = next
    if (typeof value !== 'object' || value === null) continue
    if (level > LEVELS_MAX) return `is nested more than ${LEVELS_MAX} levels deep, or refers to itself`
    const inner = Object.values(value)
    values += inner.length
    if (values > VALUES_MAX) return `has more than ${VALUES_MAX} values`
    for (const each of inner) open.push({ value: each, level: level + 1 })
  }
  return undefined
}
