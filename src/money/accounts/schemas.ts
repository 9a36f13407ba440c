/** Request and response schemas for accounts and profiles. Bodies are strict, and no value is coerced. */
import { type Static, Type } from 'typebox'
import { choices, orderBy, text, times } from '../../platform/http/list-query.ts'
import { NextPageCursor, pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { METADATA_BYTES_MAX, METADATA_LEVELS_MAX } from './metadata.ts'
import { ACCOUNT_TYPES, MEMBER_ROLES, SUMMARY_STATUSES } from './model.ts'

/** The most members an account may have. */
const MEMBERS_MAX = 100

const strict = { additionalProperties: false }
const Name = Type.String({ minLength: 1, maxLength: 200 })
const Time = Type.String({ format: 'date-time' })
const Metadata = Type.Object({}, { additionalProperties: true })
const Roles = Type.Array(textChoice(MEMBER_ROLES), { uniqueItems: true, maxItems: MEMBER_ROLES.length })
const NewMembers = Type.Array(Type.Object({ identity_id: Name, roles: Roles }, strict), {
  maxItems: MEMBERS_MAX,
  description: 'At most one entry per identity',
})
const NewMetadata = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      `Any JSON object of at most ${METADATA_BYTES_MAX} bytes, as compact JSON in UTF-8, and ${METADATA_LEVELS_MAX} ` +
      'levels of objects and arrays, including itself. It is returned equal',
  },
)

/** Members that can be set at creation and changed later. */
const changeable = {
  ref_id: Type.Optional(Name),
  description: Type.Optional(Type.String({ maxLength: 1_000 })),
  metadata: Type.Optional(NewMetadata),
  members: Type.Optional(NewMembers),
}

export const NewAccountBody = Type.Object(
  {
    account: Type.Object({ identity_id: Name, ...changeable, type: Type.Optional(textChoice(ACCOUNT_TYPES)) }, strict),
    create_profile: Type.Optional(Type.Boolean()),
  },
  strict,
)

const AccountChange = Type.Object(
  { id: Type.String({ maxLength: 200 }), ...changeable, set_user_disabled: Type.Optional(Type.Boolean()) },
  // A change with only an id would have no effect.
  { ...strict, minProperties: 2, title: 'AccountChange' },
)

type AccountChange = Static<typeof AccountChange>

/** A change, at the top level or inside the member `account`. */
export const AccountChangeBody = Type.Unsafe<AccountChange | { readonly account: AccountChange }>({
  type: 'object',
  oneOf: [AccountChange, Type.Object({ account: AccountChange }, strict)],
})

export const ReviewBody = Type.Object(
  {
    summary_status: Type.Optional(textChoice(SUMMARY_STATUSES)),
    admin_disabled: Type.Optional(Type.Boolean()),
  },
  { ...strict, minProperties: 1 },
)

export const NewProfileBody = Type.Object({ nickname: Name }, strict)

const Member = Type.Object({ identity_id: Type.String(), roles: Roles, id: Type.String() }, { title: 'AccountMember' })

const AccountItem = Type.Object(
  {
    id: Type.String(),
    identity_id: Type.String(),
    description: Type.Optional(Type.String()),
    admin_disabled: Type.Boolean(),
    user_disabled: Type.Boolean(),
    metadata: Metadata,
    ref_id: Type.Optional(Type.String()),
    members: Type.Array(Member),
    created_at: Time,
    updated_at: Time,
    profile_id: Type.Optional(Type.String()),
  },
  { title: 'ListedAccount' },
)

/** A single account. */
export const Account = Type.Object(
  {
    ...AccountItem.properties,
    summary_status: textChoice(SUMMARY_STATUSES),
    type: textChoice(ACCOUNT_TYPES),
  },
  { title: 'Account' },
)

/** An account in the operator API. */
export const ReviewedAccount = Type.Object(
  { ...Account.properties, customer_id: Type.String() },
  { title: 'ReviewedAccount' },
)

export const ReviewedAccountPage = pageOf(ReviewedAccount)

export const AccountPage = Type.Object({
  items: Type.Array(AccountItem),
  next_page_cursor: Type.Optional(NextPageCursor),
})

/** Query parameters for a customer's account list. */
export const ACCOUNT_FILTERS = {
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
  identity_id: text('Filter by primary identity'),
  created_at: times('Created'),
  updated_at: times('Last updated'),
}

/** A profile in the operator API. */
export const CustomerProfile = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    customer_id: Type.String({ format: 'uuid' }),
    nickname: Type.Optional(Type.String()),
    type: textChoice(['NORMAL']),
    created_at: Time,
  },
  { title: 'CustomerProfile' },
)

export const CustomerProfilePage = pageOf(CustomerProfile)

const Use = Type.Object({ limit: Type.Integer(), used: Type.Integer() }, { title: 'QuotaUse' })

/** A customer's quota usage. */
export const QuotaAnswer = Type.Object(
  {
    customer_id: Type.String({ format: 'uuid' }),
    accounts: Use,
    addresses: Use,
    rules: Use,
    creations_today: Type.Object({ ...Use.properties, resets_in_seconds: Type.Integer() }),
  },
  { title: 'Quotas' },
)

/** A profile in the customer's API. */
export const Profile = Type.Object(
  {
    id: Type.String(),
    nickname: Type.Optional(Type.String()),
    type: textChoice(['NORMAL']),
    account_id: Type.Optional(Type.String()),
    created_at: Time,
  },
  { title: 'Profile' },
)

export const ProfilePage = Type.Object({
  items: Type.Array(Profile),
  next_page_cursor: Type.Optional(NextPageCursor),
})

/** Query parameters for a customer's profile list. */
export const PROFILE_FILTERS = {
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
  created_at: times('Created'),
}

/** Query parameters for the operator's account list. */
export const REVIEW_FILTERS = {
  ...ACCOUNT_FILTERS,
  customer_id: text('Filter by customer'),
  summary_status: choices(SUMMARY_STATUSES, 'Filter by summary statuses'),
}
