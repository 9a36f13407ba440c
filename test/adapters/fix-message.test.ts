/** FIX messages as bytes: what the decoder finds in a stream, and what it skips; times and decimals as text. */
import { describe, expect, it } from 'vitest'
import { canonicalDecimal, compareDecimals } from '../../packages/fix-adapter/decimal.mjs'
import { Decoder, encodeMessage, type Message, rfc3339Of } from '../../packages/fix-adapter/message.mjs'
import { stateOf } from '../../packages/fix-adapter/trading-state.mjs'

const SOH = '\u0001'

/** By the text of the specification: BodyLength counts from MsgType on, CheckSum is the sum of all bytes before it. */
function text(body: string): string {
  const bytes = body.replaceAll('|', SOH)
  const message = `8=FIX.4.4${SOH}9=${bytes.length}${SOH}${bytes}`
  let sum = 0
  for (const character of message) sum += character.charCodeAt(0)
  return `${message}10=${String(sum % 256).padStart(3, '0')}${SOH}`
}

function decode(...chunks: readonly string[]): { messages: Message[]; garbled: string[] } {
  const messages: Message[] = []
  const garbled: string[] = []
  const listener = {
    onMessage: (message: Message) => messages.push(message),
    onGarbled: (why: string) => garbled.push(why),
  }
  const decoder = new Decoder(listener, 10_000)
  for (const chunk of chunks) decoder.push(Buffer.from(chunk, 'latin1'))
  return { messages, garbled }
}

describe('the decoder', () => {
  const first = text('35=0|34=1|58=caf\u00e9|')
  const second = text('35=W|268=2|269=0|270=1.50|453=1|448=a|269=1|270=2|448=b|')

  it('the FIX decoder finds the same messages however the bytes are split', () => {
    const both = first + second
    for (let at = 0; at <= both.length; at++) {
      const { messages, garbled } = decode(both.slice(0, at), both.slice(at))
      expect(messages.map(({ type }) => type)).toEqual(['0', 'W'])
      expect(garbled).toEqual([])
    }
    const { messages } = decode(...both)
    expect(messages[0]?.get(58)).toBe('caf\u00e9')
  })

  it('the FIX decoder divides a repeating group into entries, and rejects another number than announced', () => {
    const entries = decode(second).messages[0]?.entries(268)
    expect(entries?.map((entry) => [entry.get(269), entry.get(270), entry.get(448)])).toEqual([
      ['0', '1.50', 'a'],
      ['1', '2', 'b'],
    ])
    expect(decode(text('35=W|268=3|269=0|269=1|')).messages[0]?.entries(268)).toBeUndefined()
    expect(decode(text('35=W|268=0|')).messages[0]?.entries(268)).toEqual([])
  })

  it('the FIX decoder reads data fields by their length, separators included', () => {
    const { messages } = decode(text(`35=B|95=5|96=a|8=F|58=x|`))
    expect(messages[0]?.get(96)).toBe(`a${SOH}8=F`)
    expect(messages[0]?.get(58)).toBe('x')
  })

  it.each([
    ['a wrong checksum', first.replace(/10=\d{3}/, (trailer) => (trailer === '10=000' ? '10=001' : '10=000'))],
    ['a length that is too short', first.replace(/9=\d+/, '9=3')],
    ['a length that is too large for any message', first.replace(/9=\d+/, '9=99999')],
    ['a length that is no number', first.replace(/9=\d+/, '9=x')],
    ['a field without a tag', text('35=0|=5|')],
    ['a field without a value', text('35=0|58=|')],
    ['a message that begins with another field than MsgType', text('34=1|35=0|')],
    ['bytes that are no message', 'GET / HTTP/1.1\r\n\r\n'],
  ])('the FIX decoder skips %s, and finds the message after it', (_, garbage) => {
    const { messages, garbled } = decode(garbage, second)
    expect(messages.map(({ type }) => type)).toEqual(['W'])
    expect(garbled.length).toBeGreaterThan(0)
  })

  it('the FIX decoder keeps nothing of endless bytes without a message', () => {
    const { messages, garbled } = decode(...Array.from({ length: 100 }, () => 'x'.repeat(1_000)), second)
    expect(messages).toHaveLength(1)
    expect(garbled.length).toBeLessThanOrEqual(101)
  })

  it('the FIX decoder decodes the messages that the encoder writes', () => {
    const bytes = encodeMessage('FIX.4.4', [
      [35, '0'],
      [34, '1'],
      [58, 'caf\u00e9'],
    ])
    expect(bytes.toString('latin1')).toBe(first)
  })
})

describe('texts', () => {
  it('FIX times become RFC 3339 texts with at most nine digits', () => {
    expect(rfc3339Of('20261123-10:11:12')).toBe('2026-11-23T10:11:12Z')
    expect(rfc3339Of('20261123-10:11:12.123456789012')).toBe('2026-11-23T10:11:12.123456789Z')
    expect(rfc3339Of('20261231-23:59:60')).toBe('2026-12-31T23:59:59.999999999Z')
    for (const wrong of [undefined, '', '20261323-10:11:12', '2026-11-23T10:11:12Z', 'undefined-undefined']) {
      expect(rfc3339Of(wrong)).toBeUndefined()
    }
  })

  it('FIX decimals are exact, or rejected', () => {
    const texts = ['007.500', '5', '.5', '0.0', '100', '12345678901234567890.12']
    expect(texts.map((given) => canonicalDecimal(given, 2))).toEqual([
      '7.5',
      '5',
      '0.5',
      '0',
      '100',
      '12345678901234567890.12',
    ])
    for (const wrong of ['', '.', '-1', '1e3', '1.001', '1,5', undefined, '9'.repeat(41)]) {
      expect(canonicalDecimal(wrong, 2)).toBeUndefined()
    }
    const ordered = ['0.05', '0.5', '0.51', '1', '9.99', '10', '10.01', '100']
    expect([...ordered].reverse().sort(compareDecimals)).toEqual(ordered)
  })

  it('the FIX trading state is a halt before a phase, and a phase before an open market', () => {
    const own = { tradingStatus: { 101: 'AUCTION' as const }, sessionPhase: {} }
    expect(stateOf('2', '3', own)).toBe('HALTED')
    expect(stateOf('17', '4', own)).toBe('AUCTION')
    expect(stateOf('17', undefined, own)).toBe('OPEN')
    expect(stateOf(undefined, '5', own)).toBe('CLOSED')
    expect(stateOf('101', undefined, own)).toBe('AUCTION')
    for (const silent of ['7', '20', 'toString', '']) expect(stateOf(silent, undefined, own)).toBeUndefined()
  })
})
