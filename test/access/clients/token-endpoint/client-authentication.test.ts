/** The longest credentials that a client may send; what else they may be is tested at the token endpoint. */
import { expect, it } from 'vitest'
import { AuthenticationFailures } from '../../../../src/access/clients/authentication-failures.ts'
import { Directory } from '../../../../src/access/clients/directory.ts'
import { hashSecret, newPepper, newSecret } from '../../../../src/access/clients/secrets.ts'
import { authenticateRequest } from '../../../../src/access/clients/token-endpoint/client-authentication.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

it.each([
  [4_096, 'the client is authenticated'],
  [4_097, 'client authentication failed'],
])('with an Authorization header of %i characters, %s', (characters, expected) => {
  const secret = newSecret()
  const authority = { issuer: '', audience: '', pepper: newPepper() }
  const client = { clientId: 'client-1', customerId: 'customer-1', name: 'feed', scopes: new Set([]), enabled: true }
  const directory = new Directory()
  directory.replace({
    customers: [{ id: 'customer-1', name: 'acme', enabled: true, streaming: false }],
    clients: [client],
    secrets: [{ clientId: client.clientId, hash: hashSecret(authority.pepper, secret) }],
    authority,
  })
  const failures = new AuthenticationFailures(new VirtualClock())
  const ignored = { note: () => undefined }
  const context = { directory, failures, uses: ignored, lockouts: ignored }
  const credentials = Buffer.from(`${client.clientId}:${secret}`).toString('base64')
  // RFC 9110 section 11.4: any number of spaces after the scheme.
  const authorization = `Basic ${credentials.padStart(characters - 'Basic '.length)}`
  const authenticated = () => authenticateRequest(context, { authorization, parameters: [], address: '192.0.2.1' })
  if (characters > 4_096) expect(authenticated).toThrow(expected)
  else expect(authenticated().client).toEqual(client)
})
