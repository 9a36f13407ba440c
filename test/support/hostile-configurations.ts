/** Configuration file texts, each expensive to parse for another reason. None is a valid configuration. */

/** A text's maximum length. A 16th of it in the ordinary run. */
const CHARACTERS = process.env.TIDEGATE_LONG === '1' ? 1_048_576 : 65_536

function fill(entry: (index: number) => string, characters = CHARACTERS): string {
  const parts: string[] = []
  for (let index = 0, size = 0; ; index++) {
    const text = entry(index)
    size += text.length
    if (size > characters) return parts.join('')
    parts.push(text)
  }
}

/** The last of nine nested lists: 9^9 texts when all aliases are resolved. */
const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghij']
  .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[index]}`).join()}]\n`)
  .join('')}`

export const HOSTILE_CONFIGURATIONS: Readonly<Record<string, string>> = {
  '200,000 unknown keys': fill((index) => `key${index}: 1\n`, 2_800_000),
  'unknown keys': fill((index) => `k${index}: 1\n`),
  'unknown keys in a section': `http:\n${fill((index) => `  p${index}: 1\n`, CHARACTERS - 10)}`,
  'one long unknown key': `${'k'.repeat(1_000)}: 1`,
  'a long value': `http: {header_bytes_max: ${'x'.repeat(CHARACTERS - 40)}}`,
  'lists without an end': '['.repeat(CHARACTERS),
  'lists in lists': `a: ${'['.repeat(65)}${']'.repeat(65)}`,
  'mappings without an end': '{a: '.repeat(CHARACTERS / 4),
  'nested dashes': '- '.repeat(CHARACTERS / 2),
  'nested complex keys': '? '.repeat(CHARACTERS / 2),
  'a list in the place of keys': fill((index) => `- ${index}\n`),
  'an alias of itself': 'a: &a [*a]',
  'a mapping that holds itself': 'http: &http\n  tls: *http\n',
  'aliases of aliases': bomb,
  'very many aliases': `a: &a x\nb:\n${fill(() => '- *a\n', CHARACTERS - 20)}`,
  'an anchor for each alias': `b:\n${fill((index) => `- &a${index} x\n- *a${index}\n`, CHARACTERS - 20)}`,
  'aliases without anchors': `b:\n${fill(() => '- *a\n', CHARACTERS - 20)}`,
  'long aliases': `a: &a ${'x'.repeat(CHARACTERS - 2_000)}\nhttp: {header_bytes_max: [${Array(90).fill('*a').join()}]}`,
  'mistakes on every line': fill(() => 'a: b: c\n'),
  'nothing but documents': fill(() => '---\n'),
  'markets without members': `markets:\n${fill(() => '- {}\n', CHARACTERS - 20)}`,
  'markets with unknown members': `markets:\n${fill((index) => `- {m${index}: 1}\n`, CHARACTERS - 20)}`,
  'one market with unknown members': `markets:\n- ${fill((index) => `m${index}: 1\n  `, CHARACTERS - 20)}`,
  'assets without number': `assets:\n${fill((index) => `- {symbol: A${index}}\n`, CHARACTERS - 20)}`,
  'proxies without number': `http.trusted_proxies:\n${fill((index) => `- p${index}\n`, CHARACTERS - 30)}`,
  'the same proxy without number': `http.trusted_proxies:\n${fill(() => '- loopback\n', CHARACTERS - 30)}`,
  'bytes that are no text': '\0'.repeat(CHARACTERS),
}
