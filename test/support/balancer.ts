/**
 * A reverse proxy as an operator puts in front of several nodes. It polls each node's `/readyz`, sends requests to the
 * ready ones alternately, and tries the next one when a connection is refused. It never repeats a request that a node
 * has received.
 */

import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { once } from './awaited.ts'

export interface BalancedNode {
  /** The public and the operator listener's addresses. */
  readonly http: string
  readonly operatorUrl: string
  /** The traffic sent to it; absent = both. */
  readonly serves?: 'stream' | 'requests'
}

const ASK_EVERY_MILLISECONDS = 50

export class Balancer {
  readonly url: string
  readonly #nodes: BalancedNode[] = []
  readonly #ready = new Set<BalancedNode>()
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #turn = 0
  #isClosed = false

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (incoming, answer) => this.#forward(incoming, answer, this.#inTurn('requests')))
    server.on('upgrade', (incoming, socket: Socket, head) =>
      this.#tunnel(incoming, socket, head, this.#inTurn('stream')),
    )
  }

  static async listen(): Promise<Balancer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Balancer(server)
  }

  add(node: BalancedNode): void {
    this.#nodes.push(node)
    void this.#watch(node)
  }

  close(): void {
    this.#isClosed = true
    for (const socket of this.#sockets) socket.destroy()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #watch(node: BalancedNode): Promise<void> {
    while (!this.#isClosed) {
      const answer = await fetch(`${node.operatorUrl}/readyz`).catch(() => undefined)
      await answer?.arrayBuffer().catch(() => undefined)
      if (answer?.ok === true) this.#ready.add(node)
      else this.#ready.delete(node)
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MILLISECONDS))
    }
  }

  /** The nodes in the order in which to try them. Nodes that are not ready come last. */
  #inTurn(what: 'stream' | 'requests'): BalancedNode[] {
    const nodes = this.#nodes.filter(({ serves }) => serves === undefined || serves === what)
    const turn = this.#turn++ % nodes.length
    const rotated = [...nodes.slice(turn), ...nodes.slice(0, turn)]
    return [...rotated.filter((node) => this.#ready.has(node)), ...rotated.filter((node) => !this.#ready.has(node))]
  }

  #forward(incoming: IncomingMessage, answer: ServerResponse, [node, ...others]: readonly BalancedNode[]): void {
    if (node === undefined) {
      answer.writeHead(502).end()
      return
    }
    const { method, headers, url = '/' } = incoming
    const outgoing = request(new URL(url, node.http), { method, headers, agent: false })
    // The body follows once the node has accepted the connection, because another node can have it until then.
    outgoing.once('socket', (socket) => socket.once('connect', () => incoming.pipe(outgoing)))
    outgoing.once('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') this.#forward(incoming, answer, others)
      else if (answer.headersSent) answer.destroy()
      else answer.writeHead(502).end(error.message)
    })
  }

  #tunnel(incoming: IncomingMessage, client: Socket, head: Buffer, [node, ...others]: readonly BalancedNode[]): void {
    if (node === undefined) {
      client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const { hostname, port } = new URL(node.http)
    const upstream = connect(Number(port), hostname)
    upstream.once('connect', () => {
      const { rawHeaders, url } = incoming
      const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []))
      upstream.write(`GET ${url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
      for (const socket of [upstream, client]) {
        this.#sockets.add(socket)
        socket.once('close', () => this.#sockets.delete(socket))
      }
      client.once('error', () => upstream.destroy())
    })
    upstream.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') this.#tunnel(incoming, client, head, others)
      else client.destroy()
    })
  }
}
