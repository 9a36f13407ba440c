/** The benchmark's table of targets, with made-up results. */
import { expect, it } from 'vitest'
import { TARGETS, targetTable } from '../../bench/targets.ts'

const rounds = (name: string, runs: number[], benchmark = 'fanout') => ({ benchmark, name, unit: '', runs })

it('a target is met, missed, or noise when some rounds or the limit miss it, and its ratio is that of each round', () => {
  const table = targetTable([
    rounds('one message per tick: limit', [100, 200, 100]),
    rounds('one message per tick: tidegate', [85, 164, 90]),
    rounds('bursts of 10: limit', [100, 100, 100]),
    rounds('bursts of 10: naive', [5, 5, 5]),
    rounds('bursts of 10: tidegate', [70, 85, 78]),
    rounds('100k/s in bursts of 10: tidegate, p99', [16, 18, 17]),
    rounds('100k/s in bursts of 10: tidegate, p99.9', [40, 50, 60]),
    rounds('100k/s in bursts of 10: limit, p99.9', [33, 35, 20]),
    rounds('100k/s evenly: tidegate, CPU', [80, 90, 85]),
  ])
  const [head, ...rows] = table
  expect(head).toHaveLength(7)
  expect(rows).toHaveLength(TARGETS.length)
  const resultOf = (what: string) => rows.find(([name]) => name === what)?.slice(1)
  expect(resultOf('fan-out to 1,000 connections, one message per tick')).toEqual([
    '0.85',
    'x limit',
    '0.82 to 0.9',
    '100',
    'at least 0.8',
    'met',
  ])
  expect(resultOf('fan-out, bursts of 10')?.slice(-1)).toEqual(['noise: met in 1 of 3 rounds'])
  expect(resultOf('fan-out, bursts of 10, against a naive server')?.slice(-1)).toEqual(['met'])
  expect(resultOf('100k/s in bursts of 10 to 1,000 connections, p99')?.slice(-1)).toEqual(['missed'])
  expect(resultOf('100k/s in bursts of 10 to 1,000 connections, p99.9')?.slice(-1)).toEqual([
    "noise: the machine's limit misses it",
  ])
  expect(resultOf('100k/s evenly to 1,000 connections, CPU')?.slice(-2)).toEqual(['none', ''])
  expect(resultOf('token grants (PostgreSQL)')?.slice(-1)).toEqual(['not measured on this machine'])
})
