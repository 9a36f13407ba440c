#!/usr/bin/env node
/** The program: hands the command line over. */
import { runCommandLine } from './cli/index.ts'

await runCommandLine(process.argv)
