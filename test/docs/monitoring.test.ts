import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { parse } from 'yaml'
import { dashboard as makeDashboard } from '../../scripts/grafana-dashboard.mjs'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { GatewayProcesses, type GatewayProcessesOptions } from '../../src/streaming/gateway/gateway-processes.ts'
import { collectGarbage } from '../support/garbage.ts'
import { type MetricFamily, readOpenMetrics } from '../support/open-metrics.ts'
import { market, type ServiceInside, startServiceInside, temporaryFolder, tokenOf } from '../support/running-service.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const FOLDER = join(DOCS, 'how-to/monitoring')
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const metricsPage = readFileSync(join(DOCS, 'reference/metrics.md'), 'utf8')

interface Row {
  readonly kind: string
  readonly labels: readonly string[]
  readonly meaning: string
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly uid: string }
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } }
  readonly targets?: readonly { readonly expr: string; readonly refId: string; readonly legendFormat: string }[]
}

/** Labels that Prometheus adds to every series; `le` belongs to the buckets of a histogram. */
const LABELS_OF_SCRAPING = ['instance', 'job', 'le']

/** The documented table of metrics, by the name that a query uses. */
const table = new Map<string, Row>(
  [...metricsPage.matchAll(/^\| `(tidegate_\w+)` \| (\w+) \|([^|]*)\| (.+) \|$/gm)].map((match) => {
    const [, name, kind, labels, meaning] = match as unknown as [string, string, string, string, string]
    return [name, { kind, labels: labels.split(',').flatMap((label) => label.trim() || []), meaning }]
  }),
)

const isPresent = ({ meaning }: Row) => !meaning.includes('absent without TLS')

const rules = (parse(read('alert-rules.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)
const dashboard = makeDashboard()
const panels = (dashboard.panels as readonly Panel[]).filter(({ type }) => type !== 'row')
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const))

const folder = temporaryFolder()
let service: ServiceInside
let families: ReadonlyMap<string, MetricFamily>
/** By the name that a query uses: that of a counter ends with `_total`. */
const live = new Map<string, MetricFamily>()

beforeAll(async () => {
  const markets = [market('BTC', 2, 100), market('ETH', 2, 100, 'kraken:ETH/USD'), market('SOL', 2, 100, 'ingest')]
  // No server listens there: the metrics of a venue, and of the bus, appear even so.
  service = await startServiceInside(folder.path, markets, {
    'feeds.kraken.url': 'ws://127.0.0.1:9',
    'ingest.port': 0,
    'bus.url': 'nats://127.0.0.1:9',
  })
  await traffic()
  // The main process's own, about gateway processes: with `bus.url` there are none.
  const metrics = createMetricsRegistry()
  new GatewayProcesses({ count: 0, metrics } as GatewayProcessesOptions)
  const missing = async () => {
    const texts = [await service.operator.metricsText(), await metrics.metrics()]
    families = new Map(texts.flatMap((text) => [...readOpenMetrics(text)]))
    for (const family of families.values())
      live.set(family.kind === 'counter' ? `${family.name}_total` : family.name, family)
    return [...table].filter(([name, row]) => isPresent(row) && !live.has(name))
  }
  // Has its label only after a first collection, which this process may not have needed yet.
  collectGarbage()
  await vi.waitFor(
    async () => {
      expect(await missing()).toEqual([])
      expect(live.get('nodejs_gc_duration_seconds')?.samples).not.toEqual([])
    },
    { timeout: 45_000 },
  )
})

afterAll(async () => {
  await service?.stop()
  folder.remove()
})

/** Causes one of everything that is counted: a token, its revocation, a closed stream, a refusal, an address. */
async function traffic(): Promise<void> {
  const client = await service.operator.createClient()
  const token = await tokenOf(service, client)
  const socket = new WebSocket(service.ws, { headers: { authorization: `Bearer ${token}` } })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await service.operator.call('PATCH', `/clients/${client.clientId}`, { enabled: false })
  await closed
  const other = await service.operator.createClient()
  await service.operator.call('POST', '/address-pool', {
    network: 'SOLANA',
    addresses: ['So11111111111111111111111111111111111111112'],
  })
  await fetch(`${service.http}/oauth2/revoke`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${other.clientId}:${other.clientSecret}`)}` },
    body: new URLSearchParams({ token: 'none' }),
  })
}

/** The names of metrics in a query, each with the labels used next to it or anywhere in an aggregation. */
function namesIn(query: string): { readonly metrics: string[]; readonly labels: string[] } {
  const labels = [
    ...[...query.matchAll(/\{([^}]*)\}/g)].flatMap((match) => [
      ...(match[1] as string).matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g),
    ]),
    ...[...query.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap((match) => [...(match[1] as string).matchAll(/(\w+)/g)]),
  ].map((match) => match[1] as string)
  return { metrics: query.match(/\b(?:tidegate|process|nodejs)_\w+/g) ?? [], labels }
}

/** The metric family of a name in a query: a histogram has three names. */
function familyNameOf(metric: string): string {
  return metric.replace(/_(bucket|sum|count)$/, '')
}

function expectKnown(query: string): void {
  const { metrics, labels } = namesIn(query)
  const known = new Set(LABELS_OF_SCRAPING)
  for (const metric of metrics) {
    const name = familyNameOf(metric)
    if (metric.startsWith('tidegate_')) {
      const row = table.get(name)
      expect(row, `${metric} in ${query}`).toBeDefined()
      expect(row?.kind === 'histogram', `${metric} in ${query}`).toBe(name !== metric)
      for (const label of row?.labels ?? []) known.add(label)
    } else {
      const family = live.get(name)
      expect(family, `${metric} in ${query}`).toBeDefined()
      for (const { labels: present } of family?.samples ?? [])
        for (const label of Object.keys(present)) known.add(label)
    }
  }
  expect(
    labels.filter((label) => !known.has(label)),
    query,
  ).toEqual([])
}

test.each([
  ['no end', '# TYPE a gauge\n# HELP a x\na 1\n'],
  ['a counter without its ending', '# HELP a x\n# TYPE a counter\na 1\n# EOF\n'],
  ['a gauge with the ending of a counter', '# HELP a_total x\n# TYPE a_total gauge\na_total 1\n# EOF\n'],
  ['a sample of no family', '# HELP a x\n# TYPE a gauge\nb 1\n# EOF\n'],
  ['a sample twice', '# HELP a x\n# TYPE a gauge\na{b="c"} 1\na{b="c"} 2\n# EOF\n'],
  ['a quote inside a label', '# HELP a x\n# TYPE a gauge\na{b="c"d"} 1\n# EOF\n'],
  ['no number', '# HELP a x\n# TYPE a gauge\na one\n# EOF\n'],
  ['no help', '# TYPE a gauge\na 1\n# EOF\n'],
  ['no last bucket', '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n# EOF\n'],
])('the OpenMetrics parser rejects %s', (_, text) => {
  expect(() => readOpenMetrics(text)).toThrow()
})

describe('the metrics of a running service', () => {
  test('the metrics of a running service are valid OpenMetrics, each with a help text and all samples together', () => {
    expect(families.size).toBeGreaterThan(50)
  })

  test('the metrics of a running service are those in the documented table, with kind and labels', () => {
    const shown = [...live].filter(([name]) => name.startsWith('tidegate_'))
    expect(shown.map(([name]) => name).sort()).toEqual(
      [...table].flatMap(([name, row]) => (isPresent(row) ? name : [])).sort(),
    )
    for (const [name, family] of shown) {
      expect(table.get(name)?.kind, name).toBe(family.kind)
      for (const { labels } of family.samples) {
        expect(
          Object.keys(labels)
            .filter((label) => label !== 'le')
            .sort(),
          name,
        ).toEqual([...(table.get(name)?.labels ?? [])].sort())
      }
    }
  })

  test('the metrics of a running service are read without a failed statement, which would leave one out', async () => {
    const failed = () => service.operator.metric('tidegate_store_statement_seconds_count{outcome="failed"}')
    const before = await failed()
    await service.operator.metricsText()
    expect(await failed()).toBe(before)
  })

  test('the metrics of a running service contain no client, token or address', () => {
    const values = [...families.values()].flatMap(({ samples }) =>
      samples.flatMap(({ labels }) => Object.values(labels)),
    )
    for (const value of values) expect(value).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}|^ey|\b\d+\.\d+\.\d+\.\d+\b|127\.0/)
  })
})

describe('the alert rules', () => {
  test('the alert rules use existing metrics and labels', () => {
    expect(rules.length).toBeGreaterThan(20)
    for (const { expr } of rules) expectKnown(expr)
  })

  test('the alert rules count events only in series that exist before the first one', () => {
    const counted = rules.flatMap(({ expr }) => [
      ...expr.matchAll(/increase\((?:sum by \(\w+\) \()?(\w+)\{(\w+)="(\w+)"\}/g),
    ])
    expect(counted.length).toBeGreaterThan(3)
    const missing = counted.flatMap(([text, name = '', label = '', value]) => {
      const samples = live.get(name)?.samples ?? []
      return samples.some(({ labels }) => labels[label] === value) ? [] : [text]
    })
    expect(missing).toEqual([])
  })

  test('the alert rules each have a paragraph with the next step, and there is no other paragraph', () => {
    const paragraphs = [...read('README.md').matchAll(/^### (\w+)\n(?=\S)/gm)].map((match) => match[1])
    expect(paragraphs).toEqual(expect.arrayContaining(rules.map(({ alert }) => alert)))
    expect(paragraphs).toHaveLength(rules.length)
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook).toBe(`docs/how-to/monitoring/README.md#${alert.toLowerCase()}`)
    }
  })

  test('the alert rules each have a state in which they fire and one in which they do not', () => {
    const cases = (parse(read('alert-rules.test.yaml')) as { tests: { name: string }[] }).tests.map(({ name }) => name)
    expect(cases).toEqual(rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} stays silent`]))
  })

  const hasPromtool = spawnSync('promtool', ['--version']).status === 0
  describe.skipIf(!hasPromtool)('checked by promtool (needs promtool)', () => {
    test.each([
      ['check', 'alert-rules.yaml'],
      ['test', 'alert-rules.test.yaml'],
    ])('the alert rules pass %s in promtool', (verb, file) => {
      const { status, stdout, stderr } = spawnSync('promtool', [verb, 'rules', file], { cwd: FOLDER, encoding: 'utf8' })
      expect(status, stdout + stderr).toBe(0)
    })
  })
})

describe('the dashboard', () => {
  test('the dashboard uses existing metrics and labels', () => {
    expect(queries.length).toBeGreaterThan(40)
    for (const [, expr] of queries) expectKnown(expr)
  })

  test('the dashboard shows every metric of the table', () => {
    const asked = new Set(queries.flatMap(([, expr]) => namesIn(expr).metrics.map(familyNameOf)))
    expect([...table.keys()].filter((name) => !asked.has(name))).toEqual([])
  })

  test('the dashboard uses in its legends only labels that its queries keep', () => {
    for (const { title, targets = [] } of panels) {
      for (const { expr, legendFormat } of targets) {
        const legend = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] as string)
        const kept = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(/,\s*/)
        if (kept === undefined) expectKnown(`${expr} by (${legend.join(', ')})`)
        else expect(kept, title).toEqual(expect.arrayContaining(legend))
      }
    }
  })

  test('the dashboard has one data source to choose, one unit per panel, no overlapping panels, and shows all chosen nodes', () => {
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'instance'])
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    const taken = new Set<string>()
    for (const { title, datasource, fieldConfig, gridPos, targets = [] } of panels) {
      expect(datasource?.uid, title).toBe(`\${datasource}`)
      expect(fieldConfig?.defaults.unit, title).toMatch(/./)
      expect(targets.length, title).toBeGreaterThan(0)
      for (const { expr } of targets) expect(expr, title).toContain('instance=~"$instance"')
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), title).toBe(false)
          taken.add(`${x} ${y}`)
        }
      }
    }
  })
})
