/**
 * Reads the files that describe containers: the instructions of the Dockerfile, and YAML files with one or more
 * documents. It checks nothing itself.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { type ConfigResult, loadConfig } from '../../src/service/config/load.ts'

export const ROOT = join(import.meta.dirname, '../..')

export const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The only document of a YAML file, with its anchors merged. */
export const readYaml = <Content>(path: string): Content => parse(readText(path), { merge: true }) as Content

/** All documents of a YAML file; rejects one that is not valid YAML 1.1, the version that Kubernetes reads. */
export function readDocuments<Content>(path: string): Content[] {
  return parseAllDocuments(readText(path), { version: '1.1' }).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors[0]?.message}`)
    return document.toJS() as Content
  })
}

export interface Instruction {
  readonly name: string
  readonly words: string
}

/** Parts of a Dockerfile: each begins with FROM. */
export function readStages(path: string): Instruction[][] {
  const stages: Instruction[][] = []
  for (const line of readText(path).replaceAll('\\\n', ' ').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name, words] = /^([A-Z]+) +(.+)$/.exec(line) ?? []
    if (name === undefined || words === undefined) throw new Error(`${path}: not an instruction: ${line}`)
    if (name === 'FROM') stages.push([])
    const stage = stages.at(-1)
    if (stage === undefined) throw new Error(`${path} begins with ${name}`)
    stage.push({ name, words })
  }
  return stages
}

/** The configuration that a container has, with secrets that only their format matters of. */
export function configOfContainer(
  environment: Readonly<Record<string, string>>,
  file: string | undefined,
  mounted: Readonly<Record<string, string>> = {},
): ConfigResult {
  const secrets: Readonly<Record<string, string>> = {
    'store-url': 'postgres://tidegate:secret@db.example.com/tidegate?sslmode=verify-full',
    'bus-url': 'tls://tidegate:secret@nats.example.com',
    'encryption-key': Buffer.alloc(32, 7).toString('base64'),
    'operator-token': 'an operator token of sixteen characters'.replaceAll(' ', '-'),
  }
  return loadConfig({
    flags: {},
    environment: { ...environment },
    file,
    readFile: (path) => {
      const source = mounted[path]
      if (source !== undefined) return readText(source)
      const secret = secrets[path.split('/').at(-1) as string]
      if (secret === undefined) throw new Error(`${path} is not mounted`)
      return secret
    },
  })
}
