/** The schemas for the operator API's answers about operators and their API tokens. */
import { Type } from 'typebox'
import { OPERATOR_ROLES } from '../../contract/operator-calls.ts'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'

const Role = textChoice(OPERATOR_ROLES)
const Time = Type.String({ format: 'date-time' })

const tokenMembers = {
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  role: Role,
  sources: Type.Optional(Type.Array(Type.String(), { description: 'The only ones it may report. Absent: all' })),
  assets: Type.Optional(Type.Array(Type.String(), { description: 'The only ones it may deal with. Absent: all' })),
  created_at: Time,
  last_used_at: Type.Optional(Time),
}

const operatorMembers = {
  name: Type.String(),
  role: Role,
  enabled: Type.Boolean(),
  kind: textChoice(['person', 'built_in']),
  has_password: Type.Boolean({ description: 'Whether password and one-time codes are set up' }),
  openid: Type.Optional(
    Type.Object(
      { issuer: Type.String(), subject: Type.String({ description: 'The claim `sub`' }) },
      { description: 'The operator’s identity at the outside issuer, for sign-in without a password' },
    ),
  ),
  last_login_at: Type.Optional(Time),
  created_at: Time,
  tokens: Type.Array(Type.Object(tokenMembers, { title: 'ApiToken' }), { description: 'Without their values' }),
}

export const Operator = Type.Object(operatorMembers, { title: 'Operator' })

export const OperatorPage = pageOf(Operator)

const setup_link = Type.String({ description: 'Returned once: it sets password and one-time codes' })
/** For a confirmed call's issued credentials. */
const OF_REQUESTER = 'Absent in the answer to a confirmation, because whoever requested the call has it'

export const OperatorWithLink = Type.Object(
  {
    ...operatorMembers,
    setup_link: Type.Optional(
      Type.String({ description: `Returned once. It sets the password and one-time codes. ${OF_REQUESTER}` }),
    ),
    setup_expires_at: Time,
  },
  { title: 'OperatorWithLink' },
)

/** A new operator. `setup_link` is absent for one that signs in at an issuer, and for a machine. */
export const NewOperatorAnswer = Type.Object(
  {
    ...operatorMembers,
    setup_link: OperatorWithLink.properties.setup_link,
    setup_expires_at: Type.Optional(Time),
  },
  { title: 'NewOperator' },
)

/** The first admin's link. */
export const FirstLink = Type.Object({
  file: Type.String({ description: 'The file with the link, in the data folder' }),
  setup_link,
  setup_expires_at: Time,
})

export const NewApiToken = Type.Object(
  { ...tokenMembers, token: Type.Optional(Type.String({ description: `Returned once. ${OF_REQUESTER}` })) },
  { title: 'NewApiToken' },
)
