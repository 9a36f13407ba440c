/**
 * The feed benchmark's venue, in its own process: every connection receives one workload, as fast as the socket accepts
 * it or at a fixed rate, whatever it requests. `/kraken/fast/20` is 20 rounds at full speed, `/kraken/pace/10` one
 * round at ten times the recorded speed, with each frame preceded by its writing time. A line on standard output
 * contains the port. Control frames begin with `#`: `#listings` comes first, `#end` last.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { VenueName } from '../src/streaming/sources/venues/venues.ts'
import { WORKLOADS, type Workload } from './feed-workloads.ts'

/** The first frame's delay: time for the connector to list the pairs and to fetch their snapshots. */
export const LISTINGS_FRAME = '#listings'
export const END_FRAME = '#end'
/** Digits in a time, in microseconds on the monotonic clock, before a frame sent at a fixed rate. */
export const STAMP_DIGITS = 16

/** RFC 6455, 1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const CHUNK_BYTES = 64 * 1024
/** Delay between the list and the first frame. */
const LISTINGS_MILLISECONDS = 50

export function nowMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

async function serve(): Promise<void> {
  const server = createServer()
  server.on('upgrade', (request, socket: Socket) => {
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}${HANDSHAKE_GUID}`)
      .digest('base64')
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    // The frames are sent whatever is requested.
    socket.resume()
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    )
    const [, venue, how, number] = (request.url ?? '').split('/')
    void play(socket, venue as VenueName, how === 'fast' ? 'fast' : 'pace', Number(number))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  console.log((server.address() as AddressInfo).port)
}

async function play(socket: Socket, venue: VenueName, how: 'fast' | 'pace', number: number): Promise<void> {
  const workload = await WORKLOADS[venue]?.()
  if (workload === undefined) throw new Error(`nothing to send as ${venue}`)
  const chunks = how === 'fast' ? encodeRounds(workload, number) : []
  socket.write(encode(LISTINGS_FRAME))
  await new Promise((resolve) => setTimeout(resolve, LISTINGS_MILLISECONDS))
  if (how === 'fast') await playFast(socket, chunks)
  else await playAtPace(socket, workload, number)
  socket.write(encode(END_FRAME))
}

/** Everything is encoded before the first byte is sent, so that only the reader is measured. */
function encodeRounds({ frames, inRound }: Workload, rounds: number): Buffer[] {
  const chunks: Buffer[] = []
  let waiting: Buffer[] = []
  let bytes = 0
  for (let round = 0; round < rounds; round++) {
    for (const { text } of frames) {
      const frame = encode(inRound(text, round))
      waiting.push(frame)
      bytes += frame.length
      if (bytes < CHUNK_BYTES) continue
      chunks.push(Buffer.concat(waiting))
      waiting = []
      bytes = 0
    }
  }
  chunks.push(Buffer.concat(waiting))
  return chunks
}

async function playFast(socket: Socket, chunks: readonly Buffer[]): Promise<void> {
  for (const chunk of chunks) {
    if (socket.destroyed) return
    // Called when the kernel has taken all of it, or when the connection is closed.
    await new Promise<unknown>((resolve) => socket.write(chunk, resolve))
  }
}

async function playAtPace(socket: Socket, { frames }: Workload, speed: number): Promise<void> {
  const begun = performance.now()
  for (const { milliseconds, text } of frames) {
    const wait = milliseconds / speed - (performance.now() - begun)
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    if (socket.destroyed) return
    socket.write(encode(`#${String(nowMicroseconds()).padStart(STAMP_DIGITS, '0')}${text}`))
  }
}

/** One unmasked text frame. RFC 6455, 5.2. */
function encode(text: string): Buffer {
  const payload = Buffer.from(text)
  const { length } = payload
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  header[0] = 0x81
  header[1] = length < 126 ? length : length < 65_536 ? 126 : 127
  if (header.length === 4) header.writeUInt16BE(length, 2)
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([header, payload])
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await serve()
