/**
 * A strict parser for OpenMetrics text (specification version 1.0.0) in tests: anything unknown, or not allowed in a
 * metric family, is an error that names the line. It supports the metric types used by the service.
 */
export interface MetricSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface MetricFamily {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly MetricSample[]
}

const SUFFIXES = { counter: ['_total'], gauge: [''], histogram: ['_bucket', '_sum', '_count'] } as const

const DESCRIPTION = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\n"])*)"(?:,(?=.)|$)/
const NUMBER = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]Inf|NaN)$/

interface OpenFamily {
  readonly name: string
  kind: MetricFamily['kind'] | undefined
  help: string
  readonly samples: MetricSample[]
}

export function readOpenMetrics(text: string): ReadonlyMap<string, MetricFamily> {
  if (!text.endsWith('\n# EOF\n')) throw new Error('the text does not end with # EOF')
  const families = new Map<string, OpenFamily>()
  let family: OpenFamily | undefined
  for (const [index, line] of text.split('\n').slice(0, -2).entries()) {
    const wrong = (what: string): Error => new Error(`line ${index + 1}: ${what}: ${line}`)
    const description = DESCRIPTION.exec(line)
    if (description !== null) {
      const [, word, name, rest] = description as unknown as [string, string, string, string]
      if (family?.name !== name) {
        if (families.has(name)) throw wrong('a family in two places')
        family = { name, kind: undefined, help: '', samples: [] }
        families.set(name, family)
      }
      if (family.samples.length > 0) throw wrong('a description behind samples')
      if (word === 'HELP') family.help = rest
      else if (rest in SUFFIXES) family.kind = rest as MetricFamily['kind']
      else throw wrong('an unknown kind')
      continue
    }
    const sample = readSample(line)
    if (sample === undefined) throw wrong('neither a description nor a sample')
    if (family?.kind === undefined) throw wrong('a sample without a type')
    const { name, kind } = family
    if (!SUFFIXES[kind].some((suffix) => sample.name === name + suffix))
      throw wrong(`not a sample of the ${kind} ${name}`)
    family.samples.push(sample)
  }
  return new Map([...families.values()].map((one) => [one.name, checked(one)]))
}

function readSample(line: string): MetricSample | undefined {
  const match = SAMPLE.exec(line)
  if (match === null || !NUMBER.test(match[3] as string)) return undefined
  const labels: Record<string, string> = {}
  for (let rest = match[2] ?? ''; rest !== ''; ) {
    const label = LABEL.exec(rest)
    if (label === null || (label[1] as string) in labels) return undefined
    labels[label[1] as string] = label[2] as string
    rest = rest.slice(label[0].length)
  }
  return { name: match[1] as string, labels, value: Number((match[3] as string).replace('Inf', 'Infinity')) }
}

function checked({ name, kind, help, samples }: OpenFamily): MetricFamily {
  if (kind === undefined || help === '') throw new Error(`${name} has no ${kind === undefined ? 'type' : 'help'}`)
  if (kind === 'counter' && name.endsWith('_total')) throw new Error(`${name}: a counter is named without _total`)
  if (kind === 'gauge' && /_(total|count|sum|bucket)$/.test(name))
    throw new Error(`${name}: the ending of another kind`)
  const seen = new Set(samples.map((sample) => sample.name + JSON.stringify(Object.entries(sample.labels).sort())))
  if (seen.size < samples.length) throw new Error(`${name} has a sample twice`)
  if (kind === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} is below zero`)
  if (kind === 'histogram') checkHistogram(name, samples)
  return { name, kind, help, samples }
}

function checkHistogram(name: string, samples: readonly MetricSample[]): void {
  const series = new Map<string, MetricSample[]>()
  for (const sample of samples) {
    const { le: _, ...others } = sample.labels
    const key = JSON.stringify(Object.entries(others).sort())
    series.set(key, [...(series.get(key) ?? []), sample])
  }
  for (const [labels, ofSeries] of series) {
    const wrong = (what: string): Error => new Error(`${name} ${labels}: ${what}`)
    const buckets = ofSeries.filter((sample) => sample.name.endsWith('_bucket'))
    const bounds = buckets.map(({ labels: { le } }) => Number(le?.replace('Inf', 'Infinity')))
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY) throw wrong('the last bucket is not +Inf')
    for (let index = 1; index < buckets.length; index++) {
      if (!(bounds[index - 1]! < bounds[index]!)) throw wrong('buckets out of order')
      if (buckets[index - 1]!.value > buckets[index]!.value) throw wrong('a bucket holds more than a larger one')
    }
    const count = ofSeries.find((sample) => sample.name === `${name}_count`)
    if (count?.value !== buckets.at(-1)?.value) throw wrong('the count is not what the last bucket holds')
    if (!ofSeries.some((sample) => sample.name === `${name}_sum`)) throw wrong('no sum')
  }
}
