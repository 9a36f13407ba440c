import { expect, it } from 'vitest'
import { SkippedVersions } from '../../../src/streaming/sequencing/skipped-versions.ts'

it('a version counts as skipped inside a kept range, and anywhere before the oldest one once ranges were dropped', () => {
  const skipped = new SkippedVersions()
  for (let range = 0; range < 64; range++) skipped.add(10 * range, 10 * range + 5)
  expect([1, 4, 5, 7, 631, 635].map((version) => skipped.has(version))).toEqual([true, true, false, false, true, false])
  skipped.add(640, 645)
  // Nothing is known about the versions up to the dropped range.
  expect([1, 4, 5, 7, 641].map((version) => skipped.has(version))).toEqual([true, true, false, false, true])
  skipped.add(650, 655)
  expect([7, 14, 15].map((version) => skipped.has(version))).toEqual([true, true, false])
})
