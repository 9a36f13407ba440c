/** A venue that lists its pairs in the format of Kraken's `instrument` channel, and has no other channel. */

import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { once } from './awaited.ts'

export interface ListedPair {
  readonly symbol: string
  readonly status: string
  readonly price_precision: number
  readonly qty_precision: number
}

export interface ListingVenue {
  readonly url: string
  readonly close: () => void
}

export function listedPair(symbol: string, status = 'online', price = 1, amount = 8): ListedPair {
  return { symbol, status, price_precision: price, qty_precision: amount }
}

export async function startListingVenue(pairs: readonly ListedPair[]): Promise<ListingVenue> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  server.on('connection', (socket) =>
    socket.on('message', () =>
      socket.send(JSON.stringify({ channel: 'instrument', type: 'snapshot', data: { assets: [], pairs } })),
    ),
  )
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}
