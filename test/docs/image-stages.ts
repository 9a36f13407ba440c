/**
 * Executes the stages of the Dockerfile without a container: each stage is a folder, COPY copies between folders, and the
 * paths of the image that its commands name are those below the folder. The base image is this machine: what depends on
 * it (its user `node`, its shell and tools) is not tested.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Instruction } from './deployment-files.ts'

/** Paths of the image that its commands name. */
const IMAGE_PATHS = /(?<![\w.])\/(?=opt\/|var\/lib\/|usr\/local\/bin\/)/g

export interface ExecutedStage {
  readonly folder: string
  /** WORKDIR in the image. */
  readonly workdir: string
  readonly environment: Readonly<Record<string, string>>
  readonly instructions: readonly Instruction[]
}

export interface StageOptions {
  /** The build context. */
  readonly context: string
  readonly folder: string
  /** Executed stages by name. */
  readonly stages: Readonly<Record<string, ExecutedStage>>
}

/** Words of a command in the image, as they are below the folder of the stage. */
export const inFolder = (folder: string, words: string): string => words.replaceAll(IMAGE_PATHS, `${folder}/`)

/** The value of the last instruction with this name. */
export const lastOf = (stage: readonly Instruction[], name: string): string =>
  stage.findLast((instruction) => instruction.name === name)?.words ?? ''

export function executeStage(stage: readonly Instruction[], { context, folder, stages }: StageOptions): ExecutedStage {
  for (const path of ['var/lib', 'usr/local/bin']) mkdirSync(join(folder, path), { recursive: true })
  let workdir = '/'
  const environment: Record<string, string> = {}
  for (const { name, words } of stage) {
    if (name === 'WORKDIR') workdir = words
    else if (name === 'ENV') {
      const [key, value] = words.split('=') as [string, string]
      environment[key] = inFolder(folder, value)
    } else if (name === 'COPY') copy(words, { context, stages, target: join(folder, workdir) })
    else if (name === 'RUN') run(inFolder(folder, words), join(folder, workdir), environment)
  }
  return { folder, workdir, environment, instructions: stage }
}

function copy(
  words: string,
  { context, stages, target }: Pick<StageOptions, 'context' | 'stages'> & { readonly target: string },
): void {
  const [, from, rest = ''] = /^(?:--from=(\w+) )?(.+)$/.exec(words) ?? []
  const paths = rest.split(' ')
  const destination = paths.pop() as string
  const root = from === undefined ? context : (stages[from]?.folder ?? '/no-such-stage')
  for (const path of paths) {
    // A folder is copied by its content, a file into a folder whose name ends with a slash.
    const isIntoFolder = destination.endsWith('/')
    const place = isIntoFolder ? resolve(target, destination, basename(path)) : resolve(target, destination)
    mkdirSync(dirname(place), { recursive: true })
    cpSync(join(root, path), place, { recursive: true, verbatimSymlinks: true })
  }
}

function run(command: string, cwd: string, environment: Readonly<Record<string, string>>): void {
  mkdirSync(cwd, { recursive: true })
  const inherited = Object.entries(process.env).filter(([name]) => !/^(TIDEGATE_|npm_|NODE_|VITEST)/.test(name))
  execFileSync('/bin/sh', ['-c', command], {
    cwd,
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Whether a file system can be made read-only for one process, as `docker run --read-only` does. */
export const canMount: boolean =
  process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'mount', '--bind', '/tmp', '/tmp']).status === 0

/**
 * The command line that runs a program as the user of the image, with everything read-only but `writable`; the same
 * command line where that cannot be done. `bound` has folders of this machine and where the program finds them.
 */
export function confined(
  words: readonly string[],
  user: string,
  { writable, bound }: { readonly writable: readonly string[]; readonly bound: readonly (readonly [string, string])[] },
): readonly string[] {
  if (!canMount) {
    for (const [source, target] of bound) symlinkSync(source, target)
    return words
  }
  for (const [, target] of bound) mkdirSync(target, { recursive: true })
  const [uid, gid] = user.split(':') as [string, string]
  const mounts = [
    // By a mount and not a link: the user of the image may have no access to the folders above.
    ...bound.map(([source, target]) => `mount --bind '${source}' '${target}'`),
    'mount -o remount,bind,ro /',
    '(mount -o remount,bind,ro /dev/shm || true)',
    ...writable.map((path) => `mount -t tmpfs -o mode=700,uid=${uid},gid=${gid} none '${path}'`),
  ]
  const drop = `exec setpriv --reuid ${uid} --regid ${gid} --clear-groups --no-new-privs --bounding-set -all "$@"`
  return ['unshare', '--mount', '/bin/sh', '-c', [...mounts, drop].join(' && '), 'sh', ...words]
}
