/**
 * The `tidegate` commands shown in the documentation and in the program's own texts: each uses an existing verb and
 * existing options, and none asks a package manager for a package of our name, which does not belong to us in any
 * registry.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'

const ROOT = join(import.meta.dirname, '../..')

function filesBelow(folder: string, extension: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extension.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
}

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...filesBelow('docs', /\.(md|yaml|json)$/),
  ...filesBelow('deploy', /./),
  ...filesBelow('examples', /./),
]

/** `tidegate VERB …` at the beginning of a piece of code: a quoted span, a line of a block, an argument of a shell. */
const COMMAND = /(?:^(?: {4,}|\$ )?|`|\$ |['"]|sudo )(?:tidegate|node dist\/main\.js) ([a-z-]+(?:[ =][^`'"|#\n]*)?)/gm

/** Quoted words after our name that are not verbs: the first line of a recording. */
const NO_COMMANDS = ['recording 1']

function commandsOf(text: string): string[] {
  // A backslash at the end of a line continues the command.
  return [...text.replaceAll(/\\\n\s*/g, '').matchAll(COMMAND)]
    .map(([, words = '']) => words.trim())
    .filter((words) => !NO_COMMANDS.includes(words))
}

/** Returns what is wrong with a command; undefined when all of its words exist. */
function faultOf(words: string): string | undefined {
  let command: Command = createProgram()
  // What follows `--` is the user's own command.
  const given = (words.split(/\s--(?=\s)/)[0] as string).split(/\s+/)
  while (command.commands.length > 0) {
    const next = command.commands.find((candidate) => candidate.name() === given[0])
    if (next === undefined) break
    command = next
    given.shift()
  }
  const isHelp = given[0] === '--help'
  if (command.commands.length > 0 && given[0] !== undefined && !given[0].startsWith('-') && !/^[A-Z<[]/.test(given[0]))
    return `${command.name()} has no verb ${given[0]}`
  const options = optionsBelow(command)
  const unknown = given
    .map((word) => word.split('=')[0] as string)
    .find((word) => /^--\w/.test(word) && !options.has(word))
  return unknown === undefined || isHelp ? undefined : `${command.name()} has no option ${unknown}`
}

function optionsBelow(command: Command): Set<string> {
  const own = command.options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long]))
  return new Set([...own, ...command.commands.flatMap((child) => [...optionsBelow(child)])])
}

describe('commands', () => {
  it.each(PAGES)('commands in %s exist', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    expect(commandsOf(text).flatMap((words) => faultOf(words) ?? [])).toEqual([])
  })

  it('commands in the help of the verbs exist', () => {
    const faults: string[] = []
    const visit = (command: Command): void => {
      let help = ''
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
      for (const words of commandsOf(help)) faults.push(...[faultOf(words) ?? []].flat())
      for (const child of command.commands) visit(child)
    }
    visit(createProgram())
    expect(faults).toEqual([])
  })

  it('commands are recognised together with their errors', () => {
    const text =
      '`tidegate market list --json`\n    node dist/main.js serve --config x \\\n      --htp.port 1\n$ tidegate admin'
    expect(commandsOf(text)).toEqual(['market list --json', 'serve --config x --htp.port 1', 'admin'])
    expect(faultOf('market list --json')).toBe('tidegate has no verb market')
    expect(faultOf('serve --config x --htp.port 1')).toBe('serve has no option --htp.port')
    expect(faultOf('admin market lists')).toBe('market has no verb lists')
    expect(faultOf('admin market list --json')).toBeUndefined()
  })

  it('commands of a package manager never name this program', () => {
    const texts = [...PAGES, ...filesBelow('src', /\.ts$/), ...filesBelow('scripts', /\.(mjs|ts)$/)]
    const found = texts.filter((path) =>
      /\b(npx|npm (exec|x)|yarn dlx|pnpm dlx|bunx) (-\S+ )*tidegate\b/.test(readFileSync(join(ROOT, path), 'utf8')),
    )
    expect(found).toEqual([])
  })
})
