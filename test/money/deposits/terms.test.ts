/** The pure parts of deposits: states, memos in the text of banks, hashes, what is posted, and sentences of a trace. */
import { describe, expect, it } from 'vitest'
import { memoCandidates, plainMemo } from '../../../src/money/deposits/memo-text.ts'
import { differingFields, type Report, readReport } from '../../../src/money/deposits/report.ts'
import {
  attemptEntry,
  auditEntry,
  deliveryEntries,
  inOrderOfTime,
  orchestrationEntries,
  type TracedDelivery,
  type TracedOrchestration,
} from '../../../src/money/deposits/trace-text.ts'
import {
  actionEffect,
  DEPOSIT_SECONDARY_STATUSES,
  DEPOSIT_STATUSES,
  reportEffect,
} from '../../../src/money/deposits/transitions.ts'
import { normalTxHash } from '../../../src/money/deposits/tx-hash.ts'
import { wavesOf } from '../../../src/money/deposits/waves.ts'

describe('states', () => {
  it('deposit states move forward by reports', () => {
    const table = DEPOSIT_STATUSES.map((present) => DEPOSIT_STATUSES.map((reported) => reportEffect(present, reported)))
    expect(table).toEqual([
      ['unchanged', 'complete', 'fail'],
      ['unchanged', 'unchanged', 'conflict'],
      ['reopen', 'complete', 'unchanged'],
    ])
  })

  it('deposit states are changed by the operator as the table says, and in no other way', () => {
    const steps: Record<string, string> = {}
    for (const action of ['hold', 'release', 'reject', 'reverse', 'return'] as const) {
      for (const status of DEPOSIT_STATUSES) {
        for (const secondary of [null, ...DEPOSIT_SECONDARY_STATUSES]) {
          const effect = actionEffect(action, { status, secondary })
          if (effect.kind === 'impossible') continue
          steps[`${action} ${status} ${secondary}`] = effect.kind === 'step' ? `${effect.secondary}` : 'unchanged'
        }
      }
    }
    expect(steps).toEqual({
      'hold PENDING null': 'HELD',
      'hold PENDING HELD': 'unchanged',
      'hold COMPLETED null': 'HELD',
      'hold COMPLETED HELD': 'unchanged',
      'hold FAILED HELD': 'unchanged',
      'release PENDING null': 'unchanged',
      'release PENDING HELD': 'null',
      'release COMPLETED null': 'unchanged',
      'release COMPLETED HELD': 'null',
      'reject COMPLETED HELD': 'REJECTED',
      'reject COMPLETED REJECTED': 'unchanged',
      'reverse COMPLETED null': 'REVERSED',
      'reverse COMPLETED HELD': 'REVERSED',
      'reverse COMPLETED REJECTED': 'REVERSED',
      'reverse COMPLETED REVERSED': 'unchanged',
      'return COMPLETED null': 'RETURNED',
      'return COMPLETED HELD': 'RETURNED',
      'return COMPLETED REJECTED': 'RETURNED',
      'return COMPLETED RETURNED': 'unchanged',
    })
  })
})

describe('memos', () => {
  it('memos are found in every text that a bank makes of them', () => {
    for (const text of ['2XK4MB7QT9WD', ' 2xk4-mb7q t9wd.', 'RFB/2XK4MB7\r\nQT9WD/INV 77', 'x2XK4MB7QT9WDx']) {
      expect(memoCandidates(text), text).toContain('2XK4MB7QT9WD')
    }
  })

  it('memos are twelve letters from the alphabet of memos', () => {
    expect(memoCandidates('2XK4MB7QT9W')).toEqual([])
    expect(memoCandidates('OXK4MB7QT9WD')).toEqual([])
    expect(memoCandidates('2XK4MB7QT9WD'.repeat(2))).toHaveLength(12)
    expect(plainMemo('ä2-x')).toBe('2X')
  })
})

it('a hash has one form per network', () => {
  expect(normalTxHash('ETHEREUM', '0xAB')).toBe('0xab')
  expect(normalTxHash('BASE', 'Ab')).toBe('0xab')
  expect(normalTxHash('BITCOIN', '0xAB')).toBe('ab')
  expect(normalTxHash('STELLAR', 'xyz')).toBeUndefined()
  expect(normalTxHash('SOLANA', '5VERv8')).toBe('5VERv8')
  expect(normalTxHash('SOLANA', '0l')).toBeUndefined()
})

it('a muxed Stellar address stays as it was reported, and differs from its account in no term', () => {
  const addresses = [
    'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK',
    'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ',
    'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ',
  ]
  const [one, other, account] = addresses.map((address) => {
    const crypto = { network: 'STELLAR', address, tx_hash: 'ab', tx_index: 0 } as const
    const payment = { source: 'custody', external_id: '1', asset: 'XLM', amount: '1', crypto }
    const assets = [{ symbol: 'XLM', decimals: 7, networks: ['STELLAR'] }] as const
    return readReport({ ...payment, occurred_at: '2026-01-02T03:04:05Z' }, assets, 'operator') as Report
  }) as [Report, Report, Report]
  expect([one, other, account].map(({ address }) => address)).toEqual(addresses)
  expect([differingFields(one, account), differingFields(account, one)]).toEqual([[], []])
  expect(differingFields(one, other)).toEqual(['crypto.address'])
})

it('reports of one payment, or with one name, follow each other in their order', () => {
  const report = (source: string, externalId: string, txHash: string | null) => {
    const item: Partial<Report> = { source, externalId, network: 'ETHEREUM', txHash, txIndex: 0, bankReference: null }
    return { report: item as Report }
  }
  const [a, b, c, d, e] = [
    report('x', '1', 'h1'),
    report('y', '1', 'h1'),
    report('x', '2', 'h2'),
    report('y', '1', 'h3'),
    report('z', '9', null),
  ] as const
  expect(wavesOf([a, b, c, d, e])).toEqual([[a, c, e], [b], [d]])
})

describe('a trace', () => {
  const orchestration: TracedOrchestration = {
    id: 'o',
    status: 'PROCESSING',
    step: 'convert',
    source_asset: 'USDC',
    source_amount: '100',
    destination_asset: 'USDG',
    destination_amount: null,
    waiting_for: 'PEG',
    waiting_detail: 'USDC/USD is 0.97',
    waiting_since: '2026-01-01T00:00:02.000Z',
    fail_code: null,
    fail_detail: null,
    retry_of: null,
    created_at: '2026-01-01T00:00:01.000Z',
    updated_at: '2026-01-01T00:00:03.000Z',
  }
  const texts = (entries: readonly { text: string }[]) => entries.map(({ text }) => text)

  it('a trace says why an orchestration waits, and how it ended', () => {
    const begun = 'Orchestration o begins: 100 USDC into USDG'
    expect(texts(orchestrationEntries(orchestration))).toEqual([
      begun,
      'Orchestration o waits at step convert for PEG (USDC/USD is 0.97)',
    ])
    const failed = { ...orchestration, status: 'FAILED', fail_code: 'EXPIRED', fail_detail: 'one day' }
    expect(texts(orchestrationEntries(failed))).toEqual([begun, 'Orchestration o fails: EXPIRED (one day)'])
    const again = { ...orchestration, status: 'COMPLETED', waiting_for: null, waiting_since: null, retry_of: 'x' }
    expect(texts(orchestrationEntries(again))).toEqual([`${begun}, which repeats x`, 'Orchestration o is complete'])
  })

  it('a trace names the destination of a payment and its result', () => {
    const delivery: TracedDelivery = {
      id: 'd',
      asset: 'USDG',
      amount: '100',
      destination: { crypto: { network: 'ETHEREUM', address: '0xA' } },
      status: 'SETTLED',
      reference: 'ref',
      late: true,
      waiting_for: null,
      fail_code: 'REFUSED',
      fail_detail: 'by bank',
      created_at: '2026-01-01T00:00:01.000Z',
      updated_at: '2026-01-01T00:00:03.000Z',
    }
    const begun = 'Delivery d of 100 USDG is due, to ETHEREUM 0xA'
    const paid = 'Delivery d had failed with REFUSED (by bank) and was paid after all: ref'
    expect(texts(deliveryEntries(delivery))).toEqual([begun, paid])
    const failed = { ...delivery, status: 'FAILED', fail_code: 'REFUSED', fail_detail: 'closed' }
    expect(texts(deliveryEntries(failed))).toEqual([begun, 'Delivery d fails: REFUSED (closed)'])
    const unknown = { ...delivery, status: 'NEEDS_OPERATOR' }
    expect(texts(deliveryEntries(unknown))[1]).toBe('Delivery d has an unknown outcome and waits for the operator')
    expect(texts(deliveryEntries({ ...delivery, status: 'WAITING', waiting_for: 'PAUSED' }))[1]).toBe(
      'Delivery d waits for PAUSED',
    )
    const attempt = { delivery_id: 'd', attempt: 2, executor: 'bank', started_at: '', ended_at: null, detail: null }
    expect(attemptEntry({ ...attempt, outcome: 'STARTED' }).text).toBe('Attempt 2 of delivery d by bank: STARTED')
  })

  it('a trace is ordered by time, and then by cause', () => {
    const audit = { created_at: '2026-01-01T00:00:01.000Z', actor: 'operator', subject: 's', detail: { why: 'x' } }
    const [begun] = orchestrationEntries(orchestration)
    const recorded = auditEntry({ ...audit, action: 'deposit.create' })
    const other = auditEntry({ ...audit, action: 'orchestration.retry', created_at: '2026-01-01T00:00:00.000Z' })
    expect(texts(inOrderOfTime([begun as typeof recorded, recorded, other]))).toEqual([
      'operator: orchestration.retry of s (why x)',
      'The deposit is recorded (why x)',
      'Orchestration o begins: 100 USDC into USDG',
    ])
  })
})
