/**
 * How the pages of `docs/`, which are written for the repository, become pages of the site:
 * - A link to a file outside `docs/` becomes its text with the path as a tooltip, because the site does not contain that
 *   file and the repository has no public address. `test/docs/links.test.ts` checks that the file exists.
 * - A diagram in SVG becomes part of the page, so that it has the colours of the theme.
 * - Indented code is shown as fenced code is, with a button that copies it.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

const DOCS = join(import.meta.dirname, '..')

type Token = ReturnType<MarkdownRenderer['parse']>[number]

export function adaptToSite(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('repository', ({ tokens, env }) => {
    for (const token of tokens) {
      if (token.type === 'code_block') showAsFence(token)
      else if (token.children !== null) adaptChildren(token.children, dirname(env.relativePath ?? ''))
    }
  })
}

/** The fragment of a heading, as GitHub makes it: links with fragments then work in both places. */
export function fragmentOf(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
  return words.trim().replaceAll(' ', '-')
}

function adaptChildren(tokens: Token[], folder: string): void {
  let isOutside = false
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const path = pathOf(token.attrGet('href'), folder)
      isOutside = path?.startsWith('../') ?? false
      if (isOutside) {
        token.tag = 'span'
        token.attrs = [
          ['class', 'repository-file'],
          ['title', `in the repository: ${path?.slice('../'.length)}`],
        ]
        // Only a link is checked and gets an address.
        token.type = 'repository_file_open'
      }
    } else if (token.type === 'link_close' && isOutside) {
      token.tag = 'span'
      isOutside = false
    } else if (token.type === 'image') {
      const path = pathOf(token.attrGet('src'), folder)
      if (path?.endsWith('.svg')) {
        token.type = 'html_inline'
        token.content = readFileSync(join(DOCS, path), 'utf8')
      }
    }
  }
}

/** A relative address as a path from `docs/`; undefined for other addresses. */
function pathOf(address: string | null, folder: string): string | undefined {
  if (address === null || /^([a-z]+:|[/#])/i.test(address)) return undefined
  return normalize(join(folder, decodeURI(address.split('#')[0] as string)))
}

function showAsFence(token: Token): void {
  token.type = 'fence'
  token.tag = 'code'
  token.markup = '```'
  const isShell = /^(\$ )?(apt-get|curl|git|install|node|npm|npx|psql|python3|sh|su|systemctl|tidegate|export) /m
  token.info = isShell.test(token.content) ? 'sh' : 'text'
}
