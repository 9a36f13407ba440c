import { expect, it } from 'vitest'
import { examineNode, nodeProblem } from '../../../src/service/doctor/node-version.ts'

it.each(['20.19.0', '20.20.2', '21.7.3'])('Node.js %s gets no more security fixes: 24 is named', (version) => {
  expect(nodeProblem(version)).toBe(`Node.js ${version} gets no more security fixes: use Node.js 24`)
  expect(examineNode(version)).toMatchObject({ verdict: 'warn', next: 'use Node.js 24' })
})

it.each(['22.12.0', '24.0.0', '26.1.0'])('Node.js %s is supported', (version) => {
  expect(nodeProblem(version)).toBeUndefined()
  expect(examineNode(version)).toEqual({ verdict: 'ok', name: 'node', detail: version })
})
