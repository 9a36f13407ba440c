/**
 * A broker's own site with a live book on it: serves the page, the code of <tidegate-book>, and tokens for the page. The secret
 * stays here.
 *
 *     node server.mjs [BTCUSD [demo-client.json [8090]]]
 *
 * The credentials file is the second argument, or TIDEGATE_CREDENTIALS, or data/demo-client.json. Then open the address that it
 * prints. Elsewhere than in this repository: npm install PATH/packages/client. Press Ctrl-C to stop.
 */
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ClientCredentials } from '@tidegate/client'

const [market = 'BTCUSD', path = process.env.TIDEGATE_CREDENTIALS ?? 'data/demo-client.json', port = '8090'] =
  process.argv.slice(2)
const credentials = JSON.parse(readFileSync(path, 'utf8'))
// Of a client that has this scope only: whoever has the token can read the stream until it expires, and nothing else.
const tokens = new ClientCredentials(credentials, ['exchange:read_aggregated_marketdata_stream'])
const element = dirname(fileURLToPath(import.meta.resolve('@tidegate/client/element')))
const page = readFileSync(new URL('index.html', import.meta.url), 'utf8')
  .replace('BTCUSD', market)
  .replace('wss://api.example.com', credentials.ws_url)
const stream = new URL(credentials.ws_url)
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
  // The stream, and the same address without an upgrade: it says why a handshake was refused.
  `connect-src 'self' ${stream.origin} ${stream.origin.replace('ws', 'http')}`,
].join('; ')
const FILES = { '/page.js': 'text/javascript', '/page.css': 'text/css' }

const server = createServer(async (request, response) => {
  response.setHeader('content-security-policy', POLICY)
  // Not with `new URL`, which throws for a path such as `//`.
  const [pathname] = request.url.split('?')
  if (pathname === '/') {
    response.setHeader('content-type', 'text/html; charset=utf-8').end(page)
  } else if (pathname === '/stream-token' && request.method === 'POST') {
    await answerToken(request, response)
  } else if (pathname in FILES) {
    response.setHeader('content-type', FILES[pathname])
    createReadStream(new URL(`.${pathname}`, import.meta.url)).pipe(response)
  } else {
    answerModule(pathname, response)
  }
})

/** Here, check who asks, as for every page of yours: this example gives a token to each of its own pages. */
async function answerToken(request, response) {
  if (request.headers['sec-fetch-site'] !== 'same-origin') {
    response.writeHead(403).end()
    return
  }
  try {
    response.setHeader('cache-control', 'no-store').end(await tokens.token())
  } catch (error) {
    console.error(error.message)
    response.writeHead(503).end()
  }
}

/** The modules of the element: /tidegate/element.js and those that it imports. */
function answerModule(pathname, response) {
  const file = join(element, pathname.slice('/tidegate/'.length))
  const isModule = pathname.startsWith('/tidegate/') && extname(file) === '.js' && file.startsWith(element + sep)
  if (!isModule || !existsSync(file)) response.writeHead(404).end()
  else createReadStream(file).pipe(response.setHeader('content-type', 'text/javascript'))
}

server.listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`))
