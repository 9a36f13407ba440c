/** Reads YAML (and JSON, which is YAML) as plain values; the only file that knows the library. */
import { parseDocument } from 'yaml'

export type YamlResult = { readonly value: unknown } | { readonly problem: string }

/**
 * A document as plain values; `problem` names the place of the first mistake, and never quotes the text, which may
 * hold a secret.
 */
export function readYaml(text: string): YamlResult {
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: false })
  const [mistake] = document.errors
  if (mistake !== undefined) {
    const line = text.slice(0, mistake.pos[0]).split('\n').length
    return { problem: `line ${line} is not valid YAML (${mistake.code.toLowerCase().replaceAll('_', ' ')})` }
  }
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown }
  } catch (error) {
    return { problem: `is not usable YAML (${error instanceof Error ? error.name : 'unknown'})` }
  }
}
