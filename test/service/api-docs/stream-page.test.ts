/** The page of the stream escapes all text of its document. */
import { expect, it } from 'vitest'
import { asyncApiDocument } from '../../../src/service/api-docs/asyncapi.ts'
import { streamPage } from '../../../src/service/api-docs/stream-page.ts'

const LINKS = { rest: '/docs/', document: '/asyncapi.json' }

it('the stream page escapes the text that it shows', () => {
  const document = asyncApiDocument({ url: 'https://a"><script>b', version: '<i>1', issuesTokens: true })
  const page = streamPage(document, LINKS)
  expect(page).not.toMatch(/<script|<i>/)
  expect(page).toContain('wss://a&quot;&gt;&lt;script&gt;b/')
})

it('the stream page shows the members, types and presence of every schema, and links referenced schemas', () => {
  const page = streamPage(asyncApiDocument({ url: 'http://a.example', version: '1', issuesTokens: true }), LINKS)
  const level = '<a href="#schema-Level"><code>Level</code></a>'
  expect(page).toContain(`<td><code>bids</code></td><td>array of ${level}</td><td>always</td>`)
  expect(page).toContain('<td><code>channel</code></td><td><code>&quot;market_data&quot;</code></td><td>always</td>')
  expect(page).toContain('<td><code>time</code></td><td>string, date-time</td><td>always</td>')
  expect(page).toContain(
    '<h3 id="schema-BookMessageType"><code>BookMessageType</code></h3><p><code>&quot;SNAPSHOT&quot;</code>, ',
  )
  expect(page).toMatch(/<td><code>prev<\/code><\/td><td>string<\/td><td>may be absent<\/td>/)
})
