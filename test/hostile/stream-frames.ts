/**
 * Frames that violate RFC 6455 or its limits: reserved bits, unknown opcodes, no mask, wrong lengths, fragmented
 * control frames, closes with forbidden codes, incomplete frames. Each is processed as a valid one or closed with the
 * code specified by the RFC and the public documentation.
 */
import type { Random } from '../support/random.ts'
import { type Attack, type AttackContext, demand, type Family, shown } from './family.ts'
import { RawPeer } from './raw-peer.ts'
import { closePayload, type FrameShape, frameBytes, OPCODES, StreamPeer } from './stream-peer.ts'

const { continuation, text, binary, close, ping, pong } = OPCODES

const LIST = '{"type":"subscription_list"}'
const LISTED = '{"type":"subscription_list","channels":[]}'
/** Invalid UTF-8: a lone continuation byte, an overlong form, a surrogate, a code point too high, an incomplete one. */
const NOT_UTF8 = ['80', 'c0af', 'eda080', 'f4908080', 'e282', 'ff', 'f8888080']

/** The expected result: a close code, a part of the reply, or a pong with this data. */
type Outcome = { readonly closes: number } | { readonly replies: string } | { readonly pongs: string }

interface Trick {
  readonly name: string
  make(random: Random, field: AttackContext): { readonly bytes: Buffer; readonly outcome: Outcome }
}

function frames(...shapes: readonly FrameShape[]): Buffer {
  return Buffer.concat(shapes.map(frameBytes))
}

function closes(code: number, ...shapes: readonly FrameShape[]) {
  return { bytes: frames(...shapes), outcome: { closes: code } }
}

function replies(part: string, ...shapes: readonly FrameShape[]) {
  return { bytes: frames(...shapes), outcome: { replies: part } }
}

const MALFORMED = '"MALFORMED_REQUEST"'

/** The maximum frames per message. One more closes with 1008. */
const FRAGMENTS_MAX = 64

/** A request split into this many frames. */
function pieces(count: number): FrameShape[] {
  const padded = LIST.padEnd(count)
  return Array.from({ length: count }, (_, index) => ({
    opcode: index === 0 ? text : continuation,
    payload: index === count - 1 ? padded.slice(index) : padded[index]!,
    isFinal: index === count - 1,
  }))
}

const TRICKS: readonly Trick[] = [
  {
    name: 'reserved bits',
    make: (random) => closes(1002, { opcode: text, payload: LIST, reserved: 1 + random.integer(7) }),
  },
  {
    name: 'unknown opcode',
    make: (random) => closes(1002, { opcode: random.pick([3, 4, 5, 6, 7, 11, 12, 13, 14, 15]), payload: LIST }),
  },
  {
    name: 'no mask',
    make: (random) => closes(1002, { opcode: random.pick([text, binary, ping]), payload: LIST, isMasked: false }),
  },
  {
    name: 'control frame in pieces',
    make: (random) => closes(1002, { opcode: random.pick([ping, pong, close]), payload: 'x', isFinal: false }),
  },
  {
    name: 'long control frame',
    make: (random) =>
      closes(1002, { opcode: random.pick([ping, pong, close]), payload: 'x'.repeat(126 + random.integer(400)) }),
  },
  { name: 'continuation of nothing', make: () => closes(1002, { opcode: continuation, payload: LIST }) },
  {
    name: 'a message within a message',
    make: (random) =>
      closes(
        1002,
        { opcode: text, payload: '{', isFinal: false },
        { opcode: random.pick([text, binary]), payload: LIST },
      ),
  },
  {
    name: 'too long by one byte',
    make: (_random, field) => closes(1009, { opcode: text, payload: ' '.repeat(field.inboundBytesMax + 1) }),
  },
  {
    name: 'as long as allowed',
    make: (_random, field) => replies(LISTED, { opcode: text, payload: LIST.padEnd(field.inboundBytesMax) }),
  },
  {
    name: 'too long in pieces',
    make: (random, field) => {
      const piece = Buffer.alloc(4_096, ' ')
      const count = Math.ceil(field.inboundBytesMax / piece.length)
      const rest = Array.from({ length: count }, () => ({ opcode: continuation, payload: piece, isFinal: false }))
      return closes(1009, { opcode: random.pick([text, binary]), payload: '{', isFinal: false }, ...rest)
    },
  },
  {
    name: 'a length that lies',
    make: (random) => {
      const declaredLength = random.pick([1n << 63n, (1n << 64n) - 1n, 1n << 53n, 1n << 32n, 65_537n])
      return closes(1009, { opcode: random.pick([text, binary]), payload: LIST, declaredLength, lengthBits: 64 })
    },
  },
  {
    name: 'a length in more bytes than needed',
    make: (random) => replies(LISTED, { opcode: text, payload: LIST, lengthBits: random.pick([16, 64]) }),
  },
  {
    name: 'no UTF-8',
    make: (random) => {
      const bad = Buffer.from(random.pick(NOT_UTF8), 'hex')
      return closes(1007, { opcode: text, payload: Buffer.concat([Buffer.from('{"type":"'), bad, Buffer.from('"}')]) })
    },
  },
  {
    name: 'no UTF-8 over two pieces',
    make: (random) => {
      const bad = Buffer.from(random.pick(NOT_UTF8), 'hex')
      return closes(1007, { opcode: text, payload: bad, isFinal: false }, { opcode: continuation, payload: '"}' })
    },
  },
  {
    name: 'binary',
    make: (random) => replies(MALFORMED, { opcode: binary, payload: random.pick(['', LIST, '\0\0']) }),
  },
  { name: 'nothing', make: () => replies(MALFORMED, { opcode: text }) },
  {
    name: 'one byte a piece, with pings between',
    make: (random) => {
      const bytes = [...Buffer.from('{"type":"subscription_list","é":"𝄞"}')]
      const shapes = bytes.flatMap((byte, index): FrameShape[] => [
        ...(random.chance(0.2) ? [{ opcode: ping, payload: `${index}` }] : []),
        {
          opcode: index === 0 ? text : continuation,
          payload: Buffer.from([byte]),
          isFinal: index === bytes.length - 1,
        },
      ])
      return replies(LISTED, ...shapes)
    },
  },
  {
    name: 'empty pieces',
    make: (random) => {
      const empty = Array.from({ length: random.integer(60) }, () => ({ opcode: continuation, isFinal: false }))
      return replies(LISTED, { opcode: text, isFinal: false }, ...empty, { opcode: continuation, payload: LIST })
    },
  },
  {
    name: 'more pieces than allowed',
    make: (random) => {
      const empty = Array.from({ length: 64 + random.integer(200) }, () => ({ opcode: continuation, isFinal: false }))
      return closes(1008, { opcode: text, isFinal: false }, ...empty)
    },
  },
  {
    name: 'close with a code that may not be sent',
    make: (random) => {
      const code = random.pick([0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2_999, 5_000, 65_535])
      return closes(1002, { opcode: close, payload: closePayload(code) })
    },
  },
  { name: 'close of one byte', make: () => closes(1002, { opcode: close, payload: 'x' }) },
  {
    name: 'close with a reason that is no UTF-8',
    make: (random) =>
      closes(1007, { opcode: close, payload: closePayload(1000, Buffer.from(random.pick(NOT_UTF8), 'hex')) }),
  },
  {
    name: 'close, then more',
    make: (random) => {
      const code = random.pick([1000, 1001, 3_000, 4_999])
      return closes(code, { opcode: close, payload: closePayload(code, 'so long') }, { opcode: text, payload: LIST })
    },
  },
  {
    name: 'ping flood',
    make: (random) => {
      const shape = { opcode: random.pick([ping, pong]), payload: 'x'.repeat(random.integer(126)) }
      return closes(1008, ...Array.from({ length: 350 }, () => shape))
    },
  },
  {
    name: 'as many pieces as allowed',
    make: () => replies(LISTED, ...pieces(FRAGMENTS_MAX)),
  },
  {
    name: 'one piece too many',
    make: () => closes(1008, ...pieces(FRAGMENTS_MAX + 1)),
  },
  {
    name: 'reserved bits of a control frame',
    make: (random) => closes(1002, { opcode: random.pick([ping, pong, close]), reserved: 1 + random.integer(7) }),
  },
  {
    name: 'reserved bits of a continuation',
    make: (random) =>
      closes(
        1002,
        { opcode: text, payload: '{', isFinal: false },
        { opcode: continuation, payload: '}', reserved: 1 + random.integer(7) },
      ),
  },
  {
    name: 'a control frame whose length has 16 bits',
    make: (random) => closes(1002, { opcode: random.pick([ping, pong, close]), payload: 'x', lengthBits: 16 }),
  },
  {
    name: 'a continuation without a mask',
    make: () =>
      closes(
        1002,
        { opcode: text, payload: '{', isFinal: false },
        { opcode: continuation, payload: '}', isMasked: false },
      ),
  },
  {
    name: 'close with the longest reason',
    make: () => closes(3_000, { opcode: close, payload: closePayload(3_000, 'x'.repeat(123)) }),
  },
  {
    name: 'unsolicited pongs',
    make: () => replies(LISTED, { opcode: pong, payload: 'x' }, { opcode: pong }, { opcode: text, payload: LIST }),
  },
  {
    name: 'two messages in one write',
    make: () => replies(LISTED, { opcode: text, payload: LIST }, { opcode: text, payload: LIST }),
  },
  {
    name: 'ping of the longest kind',
    make: (random) => {
      const payload = `${random.integer(1_000_000)}`.padEnd(125, '.')
      return { bytes: frames({ opcode: ping, payload }), outcome: { pongs: payload } }
    },
  },
]

/** The names of the cases. */
export const FRAME_CASES: readonly string[] = TRICKS.map(({ name }) => name)

/** Sends one case on its own connection, and throws when the result is wrong. */
export async function runFrameCase(field: AttackContext, random: Random, index: number): Promise<void> {
  const trick = TRICKS[index] as Trick
  const { bytes, outcome } = trick.make(random, field)
  // A frame in the same write as the handshake counts like any other.
  const isInSameWrite = random.chance(0.2)
  const peer = await StreamPeer.open(field.stream, field.reader.token, isInSameWrite ? bytes : undefined)
  try {
    if (!isInSameWrite) sendInChunks(peer, random, bytes)
    await checkOutcome(peer, outcome, trick.name)
  } catch (error) {
    throw new Error(`${trick.name}: ${(error as Error).message}`)
  } finally {
    peer.destroy()
  }
}

export const streamFrames: Family = {
  name: 'stream frames',
  share: 0.12,
  async run({ field, random, serial }) {
    await runFrameCase(field, random, serial % TRICKS.length)
    return 1
  },
}

async function checkOutcome(peer: StreamPeer, outcome: Outcome, name: string): Promise<void> {
  if ('closes' in outcome) {
    demand(await peer.closeCode(), outcome.closes, `${name}; replies: ${peer.replies.join()}`)
  } else if ('replies' in outcome) {
    const reply = await peer.reply(0)
    demand(reply?.includes(outcome.replies), true, `${name}: ${reply}, close ${peer.close?.code}`)
  } else {
    await peer.peer.until('a pong', () => peer.pongs.length > 0)
    demand(peer.pongs[0], outcome.pongs, name)
  }
}

function sendInChunks(peer: StreamPeer, random: Random, bytes: Buffer): void {
  const cut = random.chance(0.5) ? bytes.length : random.integer(bytes.length)
  peer.peer.send(bytes.subarray(0, cut))
  peer.peer.send(bytes.subarray(cut))
}

/** Random bytes, and frames that never end. No close code is documented, only that other clients are not affected. */
export const streamNoise: Family = {
  name: 'stream noise',
  share: 0.08,
  async run({ field, random }: Attack) {
    const peer = await StreamPeer.open(field.stream, field.reader.token)
    try {
      const noise = Buffer.from(Array.from({ length: 1 + random.integer(400) }, () => random.integer(256)))
      const half = frameBytes({ opcode: text, payload: LIST.padEnd(random.integer(60_000) + 30) })
      peer.peer.send(random.chance(0.5) ? noise : half.subarray(0, 1 + random.integer(half.length - 1)))
      const ending = random.integer(3)
      if (ending === 0) peer.peer.reset()
      else if (ending === 1) peer.peer.end()
      else peer.peer.send(Buffer.alloc(random.integer(70_000), random.integer(256)))
      if (ending === 1) await peer.peer.untilEnded()
      const code = peer.close?.code
      const isDocumented = code === undefined || [1000, 1002, 1005, 1007, 1008, 1009].includes(code)
      if (!isDocumented && !isSendable(code)) throw new Error(`closed with ${code}: ${shown(noise.toString('hex'))}`)
    } finally {
      peer.destroy()
    }
    return 1
  },
}

/** Noise may be a valid close frame by chance, whose code is echoed. */
function isSendable(code: number): boolean {
  return (code >= 1000 && code <= 1014) || (code >= 3_000 && code <= 4_999)
}

/** Bytes other than TLS on a TLS connection: they end it, and affect no other. */
export const tlsNoise: Family = {
  name: 'TLS noise',
  share: 0.04,
  async run({ field: { stream }, random }) {
    const peer = await RawPeer.connect({ host: stream.host, port: stream.port })
    try {
      const noise = Buffer.from(Array.from({ length: 1 + random.integer(2_000) }, () => random.integer(256)))
      // A handshake record, or HTTP without TLS, or an unknown record.
      const start = random.pick(['160301', '160303ffff', Buffer.from(LIST).toString('hex'), ''])
      peer.send(Buffer.concat([Buffer.from(start, 'hex'), noise]))
      if (random.chance(0.3)) peer.reset()
      else peer.end()
      await peer.untilEnded()
    } finally {
      peer.destroy()
    }
    return 1
  },
}
