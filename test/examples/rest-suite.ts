/** The first ten minutes with the REST API, as in the guide: with curl, and with the client. */
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CURL, startExample, titleWith } from '../support/foreign-programs.ts'
import { type ExampleTargets, transportsOf } from './services.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'examples/rest')
const UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const BITCOIN_ADDRESS = 'bc1q[02-9ac-hj-np-z]{38}'

export function restSuite(targets: () => ExampleTargets): void {
  describe.skipIf(CURL.isSkipped)(titleWith('REST with curl', CURL, 'curl'), () => {
    it.each(transportsOf('TCP'))('the REST example completes the first ten minutes over %s', async (transport) => {
      const { credentialsPath, environment } = targets().of(transport)
      const script = join(FOLDER, 'first-ten-minutes.sh')
      const { code, stdout, stderr } = await startExample('sh', [script, credentialsPath], environment).result
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const answers = stdout
        .split(/^# .*\n/m)
        .slice(1)
        .map((text) => JSON.parse(text))
      const [account, second, firstPage, lastPage, address, { rule }, addresses, rules, ...rest] = answers
      expect(account).toMatchObject({ summary_status: 'PENDING', profile_id: expect.stringMatching(`^${UUID}$`) })
      expect(second).not.toHaveProperty('profile_id')
      expect(firstPage).toMatchObject({ items: [{ id: account.id }], next_page_cursor: expect.any(String) })
      expect(lastPage.items.map(({ id }: { id: string }) => id)).toEqual([second.id])
      expect(lastPage).not.toHaveProperty('next_page_cursor')
      expect(address.address).toMatch(new RegExp(`^${BITCOIN_ADDRESS}$`))
      expect(rule).toMatchObject({ status: 'ACTIVE', source: { crypto: { network: 'BITCOIN' } } })
      expect(addresses.items.map(({ id }: { id: string }) => id)).toEqual([rule.source.crypto.address_id, address.id])
      expect(rules).toEqual({ items: [rule], rules: [rule] })
      const refused = rest.slice(0, -2)
      expect(refused.map(({ status, code, error }) => (status === undefined ? error : `${status} ${code}`))).toEqual([
        '400 invalid_request',
        '400 invalid_cursor',
        '404 not_found',
        '405 method_not_allowed',
        '409 already_exists',
        '400 invalid_request',
        '415 unsupported_media_type',
        '413 body_too_large',
        '401 unauthorized',
        '401 invalid_token',
        '403 insufficient_scope',
        'invalid_scope',
      ])
      expect(refused[4].meta.existing).toEqual(account)
      const deleted = { rule: { ...rule, status: 'DELETED' } }
      expect(rest.slice(-2)).toEqual([deleted, deleted])
    })
  })

  describe('REST with the client', () => {
    it('REST with the client completes the first ten minutes, and its types are correct', async () => {
      const target = targets().of('TCP')
      // As in a project of its own in which the packages are installed.
      const folder = join(target.service.folder, 'client')
      mkdirSync(folder)
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
      const program = join(folder, 'first-ten-minutes.ts')
      copyFileSync(join(FOLDER, 'first-ten-minutes.ts'), program)
      const run = async (file: string, ...args: string[]) => {
        const { code, stdout, stderr } = await startExample(file, args, target.environment).result
        expect({ code, problem: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, problem: '' })
        return stdout
      }
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: true,
        module: 'nodenext',
        target: 'es2023',
        types: ['node'],
        noEmit: true,
      }
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['first-ten-minutes.ts'] }))
      await run('tsc', '--project', folder)
      const lines = (await run('tsx', program, target.credentialsPath)).trim().split('\n')
      const expected = [
        `^account ${UUID} is PENDING$`,
        '^3 accounts, the first is ours: true$',
        `^deposit address ${BITCOIN_ADDRESS}$`,
        `^rule ${UUID} is ACTIVE, pay to ${BITCOIN_ADDRESS}$`,
        '^2 deposit addresses, 1 rule$',
        '^refused: 400 invalid_request: limit: ',
        '^refused: 400 invalid_cursor: page_cursor',
        "^refused: 403 insufficient_scope: insufficient scopes: found 'identity:read_account', required one of ",
        '^refused: 404 not_found: ',
        '^refused: 409 already_exists: ref_id: ',
        '^that account is ours: true$',
        '^rule is DELETED$',
        '^rule is DELETED$',
      ]
      expect(lines).toEqual(expected.map((pattern) => expect.stringMatching(pattern)))
    })
  })
}
