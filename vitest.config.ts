import { defineConfig } from 'vitest/config'

/** Set by `npm run test:long`: long counts in the ordinary files, and the files that are nothing but long. */
const long = process.env.TIDEGATE_LONG === '1'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', ...(long ? ['test/**/*.long.ts'] : [])],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: long ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
  },
})
