#!/usr/bin/env node
/** The program: hands the command line over. Everything else is loaded from here, so that this file never changes. */
const { runCommandLine } = await import('./cli/index.ts')

await runCommandLine(process.argv)

export {}
