/** The operator API as types. Generated from docs/reference/operator-openapi.json by `npm run docs`. */
export interface paths {
    "/admin/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how operators can sign in
         * @description Requires no credentials.
         */
        get: operations["getLogin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show who is signed in, and what the role allows
         * @description Lowest role: `viewer`; also `deposit_reporter`; also `executor`.
         */
        get: operations["getSession"];
        put?: never;
        /**
         * Sign in with a password and a one-time code
         * @description Requires no credentials.
         */
        post: operations["postSession"];
        /**
         * Sign out
         * @description Lowest role: `viewer`.
         */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/setup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read a setup link, or choose a password with it
         * @description Requires no credentials.
         */
        post: operations["postSetup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/setup/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Use a setup link up with the first one-time code, and sign in
         * @description Requires no credentials.
         */
        post: operations["postSetupConfirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/login/openid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Begin a login at the outside issuer
         * @description Requires no credentials.
         */
        get: operations["getLoginOpenid"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/login/openid/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finish a login at the outside issuer
         * @description Requires no credentials.
         */
        get: operations["getLoginOpenidCallback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the own password
         * @description Lowest role: `viewer`.
         */
        post: operations["postSessionPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/session/authenticator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to replace the own authenticator
         * @description Lowest role: `viewer`.
         */
        post: operations["postSessionAuthenticator"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/change-requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List changes that a second operator must confirm
         * @description Lowest role: `viewer`.
         */
        get: operations["getChangeRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/change-requests/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a requested change
         * @description Lowest role: `viewer`.
         */
        get: operations["getChangeRequestsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/change-requests/{id}/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm and carry out a requested change
         * @description Lowest role: `viewer`.
         */
        post: operations["postChangeRequestsByIdConfirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/change-requests/{id}/decline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decline or withdraw a requested change
         * @description Lowest role: `viewer`.
         */
        post: operations["postChangeRequestsByIdDecline"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the state of this node, with the last hour
         * @description Lowest role: `viewer`.
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check this installation
         * @description Lowest role: `viewer`.
         */
        get: operations["getDoctor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the settings in force, with the origin of each value
         * @description Lowest role: `viewer`.
         */
        get: operations["getSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/customers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List customers
         * @description Lowest role: `viewer`.
         */
        get: operations["getCustomers"];
        put?: never;
        /**
         * Create a customer
         * @description Lowest role: `admin`.
         */
        post: operations["postCustomers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/customers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a customer
         * @description Lowest role: `viewer`.
         */
        get: operations["getCustomersById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a customer
         * @description Lowest role: `admin`.
         */
        patch: operations["patchCustomersById"];
        trace?: never;
    };
    "/admin/v1/customers/{id}/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the clients of a customer
         * @description Lowest role: `viewer`.
         */
        get: operations["getCustomersByIdClients"];
        put?: never;
        /**
         * Create a client
         * @description Lowest role: `admin`.
         */
        post: operations["postCustomersByIdClients"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List clients
         * @description Lowest role: `viewer`.
         */
        get: operations["getClients"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/clients/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a client
         * @description Lowest role: `viewer`.
         */
        get: operations["getClientsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a client
         * @description Lowest role: `admin`.
         */
        patch: operations["patchClientsById"];
        trace?: never;
    };
    "/admin/v1/clients/{id}/revoke-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke every token of a client
         * @description Lowest role: `admin`.
         */
        post: operations["postClientsByIdRevokeTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/clients/{id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a secret of a client
         * @description Lowest role: `admin`.
         */
        post: operations["postClientsByIdSecrets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/clients/{id}/secrets/{secret}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a secret of a client
         * @description Lowest role: `admin`.
         */
        delete: operations["deleteClientsByIdSecretsBySecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/signing-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys that sign access tokens
         * @description Lowest role: `viewer`.
         */
        get: operations["getSigningKeys"];
        put?: never;
        /**
         * Create the next key that signs access tokens
         * @description Lowest role: `admin`.
         */
        post: operations["postSigningKeys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/signing-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a key that signs access tokens
         * @description Lowest role: `admin`.
         */
        delete: operations["deleteSigningKeysById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/signing-keys/encrypt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Encrypt the keys in the store
         * @description Lowest role: `admin`.
         */
        post: operations["postSigningKeysEncrypt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/receipt-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys that sign receipts
         * @description Lowest role: `viewer`.
         */
        get: operations["getReceiptKeys"];
        put?: never;
        /**
         * Create the next key that signs receipts
         * @description Lowest role: `admin`.
         */
        post: operations["postReceiptKeys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what was changed, when and by whom
         * @description Lowest role: `viewer`.
         */
        get: operations["getAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/operators": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List operators
         * @description Lowest role: `admin`.
         */
        get: operations["getOperators"];
        put?: never;
        /**
         * Create an operator
         * @description Lowest role: `admin`. Answered with 202 and a change request while `operator.four_eyes` lists `operators`.
         */
        post: operations["postOperators"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/operators/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an operator
         * @description Lowest role: `admin`.
         */
        get: operations["getOperatorsByName"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the role or subject of an operator, or disable one
         * @description Lowest role: `admin`. Answered with 202 and a change request while `operator.four_eyes` lists `operators`.
         */
        patch: operations["patchOperatorsByName"];
        trace?: never;
    };
    "/admin/v1/operators/setup-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a new setup link of the first admin
         * @description Lowest role: `admin`.
         */
        post: operations["postOperatorsSetupLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/operators/{name}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove the password or subject of an operator, and create a setup link
         * @description Lowest role: `admin`. Answered with 202 and a change request while `operator.four_eyes` lists `operators`.
         */
        post: operations["postOperatorsByNameReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/operators/{name}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an API token of an operator
         * @description Lowest role: `admin`. Answered with 202 and a change request while `operator.four_eyes` lists `operators`.
         */
        post: operations["postOperatorsByNameTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/operators/{name}/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API token of an operator
         * @description Lowest role: `admin`.
         */
        delete: operations["deleteOperatorsByNameTokensById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the nodes of the service
         * @description Lowest role: `viewer`.
         */
        get: operations["getNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the connections of all nodes
         * @description Lowest role: `viewer`.
         */
        get: operations["getConnections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/connections/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a connection with what its markets were sent
         * @description Lowest role: `viewer`.
         */
        get: operations["getConnectionsById"];
        put?: never;
        post?: never;
        /**
         * Close a connection
         * @description Lowest role: `admin`.
         */
        delete: operations["deleteConnectionsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/markets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the state of all markets
         * @description Lowest role: `viewer`.
         */
        get: operations["getMarkets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/markets/{symbol}/book": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the book of a market
         * @description Lowest role: `viewer`.
         */
        get: operations["getMarketsBySymbolBook"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/markets/{symbol}/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the best prices of a market during the last hour
         * @description Lowest role: `viewer`.
         */
        get: operations["getMarketsBySymbolPrices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the accounts of all customers
         * @description Lowest role: `viewer`.
         */
        get: operations["getAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an account
         * @description Lowest role: `viewer`.
         */
        get: operations["getAccountsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Review an account
         * @description Lowest role: `reviewer`. Answered with 202 and a change request while `operator.four_eyes` lists `approvals`.
         */
        patch: operations["patchAccountsById"];
        trace?: never;
    };
    "/admin/v1/accounts/{id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the notes about an account
         * @description Lowest role: `viewer`.
         */
        get: operations["getAccountsByIdNotes"];
        put?: never;
        /**
         * Add a note about an account
         * @description Lowest role: `reviewer`.
         */
        post: operations["postAccountsByIdNotes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/customers/{id}/profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the profiles of a customer
         * @description Lowest role: `viewer`.
         */
        get: operations["getCustomersByIdProfiles"];
        put?: never;
        /**
         * Create a profile without an account
         * @description Lowest role: `admin`.
         */
        post: operations["postCustomersByIdProfiles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/customers/{id}/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the use of a customer’s quotas
         * @description Lowest role: `viewer`.
         */
        get: operations["getCustomersByIdQuotas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/address-pool": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count the imported addresses
         * @description Lowest role: `viewer`.
         */
        get: operations["getAddressPool"];
        put?: never;
        /**
         * Import addresses
         * @description Lowest role: `admin`.
         */
        post: operations["postAddressPool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposit-addresses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the owner of a deposit address
         * @description Lowest role: `viewer`.
         */
        get: operations["getDepositAddresses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/profiles/{id}/balances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the balances of a profile
         * @description Lowest role: `viewer`.
         */
        get: operations["getProfilesByIdBalances"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/profiles/{id}/statement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the statement of a profile
         * @description Lowest role: `viewer`.
         */
        get: operations["getProfilesByIdStatement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/ledger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the last comparison of balances with postings
         * @description Lowest role: `viewer`.
         */
        get: operations["getLedger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/ledger/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List ledger entries
         * @description Lowest role: `viewer`.
         */
        get: operations["getLedgerEntries"];
        put?: never;
        /**
         * Book a hedge, funding, a withdrawal, fees, a cost or a debt
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postLedgerEntries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/ledger/entries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a ledger entry
         * @description Lowest role: `viewer`.
         */
        get: operations["getLedgerEntriesById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/ledger/entries/{id}/reverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reverse a ledger entry
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postLedgerEntriesByIdReverse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the rules of all customers
         * @description Lowest role: `viewer`.
         */
        get: operations["getRules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a rule
         * @description Lowest role: `viewer`.
         */
        get: operations["getRulesById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/rules/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve a rule
         * @description Lowest role: `reviewer`. Answered with 202 and a change request while `operator.four_eyes` lists `approvals`.
         */
        post: operations["postRulesByIdApprove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/rules/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a rule
         * @description Lowest role: `reviewer`.
         */
        post: operations["postRulesByIdReject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/rules/{id}/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a rule
         * @description Lowest role: `reviewer`.
         */
        post: operations["postRulesByIdDelete"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/rules/{id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the notes about a rule
         * @description Lowest role: `viewer`.
         */
        get: operations["getRulesByIdNotes"];
        put?: never;
        /**
         * Add a note about a rule
         * @description Lowest role: `reviewer`.
         */
        post: operations["postRulesByIdNotes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deposits
         * @description Lowest role: `viewer`; also `deposit_reporter`.
         */
        get: operations["getDeposits"];
        put?: never;
        /**
         * Report deposits
         * @description Lowest role: `treasurer`; also `deposit_reporter`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postDeposits"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a deposit
         * @description Lowest role: `viewer`; also `deposit_reporter`.
         */
        get: operations["getDepositsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the full history of a deposit
         * @description Lowest role: `viewer`; also `deposit_reporter`.
         */
        get: operations["getDepositsByIdTrace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Assign an unattributed deposit to a profile
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postDepositsByIdAssign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/correct": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Correct the terms of a deposit
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postDepositsByIdCorrect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hold a deposit
         * @description Lowest role: `treasurer`.
         */
        post: operations["postDepositsByIdHold"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release a held deposit
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postDepositsByIdRelease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a held deposit
         * @description Lowest role: `treasurer`.
         */
        post: operations["postDepositsByIdReject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/reverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reverse a deposit
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `settlements`.
         */
        post: operations["postDepositsByIdReverse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deposits/{id}/return": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return a deposit
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `settlements`.
         */
        post: operations["postDepositsByIdReturn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/orchestrations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the orchestrations of all customers
         * @description Lowest role: `viewer`.
         */
        get: operations["getOrchestrations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/orchestrations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an orchestration
         * @description Lowest role: `viewer`.
         */
        get: operations["getOrchestrationsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/orchestrations/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a failed orchestration
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postOrchestrationsByIdRetry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/orchestrations/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release a waiting orchestration
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `deposits`.
         */
        post: operations["postOrchestrationsByIdRelease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/orchestrations/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a waiting orchestration
         * @description Lowest role: `treasurer`.
         */
        post: operations["postOrchestrationsByIdReject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/orchestrations/{id}/price": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain the price of an orchestration
         * @description Lowest role: `viewer`.
         */
        get: operations["getOrchestrationsByIdPrice"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/desk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the operator’s own positions
         * @description Lowest role: `viewer`.
         */
        get: operations["getDesk"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries
         * @description Lowest role: `viewer`; also `executor`.
         */
        get: operations["getDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a delivery
         * @description Lowest role: `viewer`; also `executor`.
         */
        get: operations["getDeliveriesById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deliveries/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim deliveries to execute
         * @description Lowest role: `treasurer`; also `executor`.
         */
        post: operations["postDeliveriesClaim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deliveries/{id}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim one delivery in the own name
         * @description Lowest role: `treasurer`; also `executor`.
         */
        post: operations["postDeliveriesByIdClaim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deliveries/{id}/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a delivery as paid
         * @description Lowest role: `treasurer`; also `executor`. Answered with 202 and a change request while `operator.four_eyes` lists `settlements`.
         */
        post: operations["postDeliveriesByIdSettle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/deliveries/{id}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a delivery as failed
         * @description Lowest role: `treasurer`; also `executor`. Answered with 202 and a change request while `operator.four_eyes` lists `settlements`.
         */
        post: operations["postDeliveriesByIdFail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/v1/controls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what is paused
         * @description Lowest role: `viewer`.
         */
        get: operations["getControls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Pause or resume assets, networks, pairs or deliveries
         * @description Lowest role: `treasurer`. Answered with 202 and a change request while `operator.four_eyes` lists `controls`.
         */
        patch: operations["patchControls"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AccountMember: {
            identity_id: string;
            roles: ("BENEFICIAL_OWNER" | "AUTHORIZED_USER" | "FINANCIAL_ADVISOR")[];
            id: string;
        };
        AddressPool: {
            /** @enum {string} */
            network: "SOLANA" | "STELLAR";
            /** @description Addresses that are not allocated yet */
            free: number;
            used: number;
        };
        ApiToken: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @enum {string} */
            role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
            /** @description The only ones that it may report; absent: all */
            sources?: string[];
            /** @description The only ones that it may deal with; absent: all */
            assets?: string[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at?: string;
        };
        AuditEntry: {
            id: string;
            /** Format: date-time */
            created_at: string;
            /** @description `operator:` and a name, `client:` and an id, `operator` for the token of `operator.token`, or `worker` */
            actor: string;
            /** @description Noun and verb, such as `customer.create` */
            action: string;
            /** @description The id of the record that was changed */
            subject: string;
            detail: {
                [key: string]: unknown;
            };
        };
        /** @description With `at`, also the members that only recordings have */
        Book: {
            symbol: string;
            live: boolean;
            /** @description Why it is not live */
            reason?: string;
            version: number;
            /**
             * Format: date-time
             * @description Of the last commit
             */
            time?: string;
            /** @description Most levels per side in bids and asks: the parameter `depth`, 100 without it */
            depth: number;
            /** @description Published levels; bids has the best of them */
            bid_levels: number;
            /** @description Published levels; asks has the best of them */
            ask_levels: number;
            /** @description Best first */
            bids: components["schemas"]["Level"][];
            /** @description Best first */
            asks: components["schemas"]["Level"][];
            at?: string;
            /** Format: date-time */
            stale_since?: string;
            /** @description Whether the market was removed */
            withdrawn?: boolean;
            epoch?: string;
            /** @description RFC 3339 with nanoseconds */
            committed_at?: string;
            /** @description What the publisher of the book states as its origin */
            origin?: string;
            instrument_state?: string;
            instrument_reason?: string;
            executions?: {
                price: string;
                amount: string;
                id?: string;
                side?: string;
                venue?: string;
                /** Format: date-time */
                executed_at?: string;
                /** Format: date-time */
                committed_at: string;
            }[];
            /** @description The file that contains it */
            recording?: string;
        };
        ChangeRequest: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            kind: "approvals" | "settlements" | "controls" | "deposits" | "operators";
            /** @description Method and path below `/admin/v1` */
            call: string;
            summary: string;
            /** @description The parameters in the path */
            params: {
                [key: string]: string;
            };
            body: {
                [key: string]: unknown;
            };
            /** @description The id of the record that is changed, or what names it */
            subject: string;
            /** @description Why, for the operator who confirms; empty: requested by an earlier version */
            comment: string;
            /** @enum {string} */
            status: "PENDING" | "CONFIRMED" | "DECLINED" | "FAILED" | "EXPIRED";
            requested_by: string;
            decided_by?: string;
            /** Format: date-time */
            decided_at?: string;
            /** @description Of FAILED: why the confirmed call was refused */
            detail?: string;
            /** Format: date-time */
            expires_at: string;
            /** Format: date-time */
            created_at: string;
        };
        ChangeRequestWithRecord: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            kind: "approvals" | "settlements" | "controls" | "deposits" | "operators";
            /** @description Method and path below `/admin/v1` */
            call: string;
            summary: string;
            /** @description The parameters in the path */
            params: {
                [key: string]: string;
            };
            body: {
                [key: string]: unknown;
            };
            /** @description The id of the record that is changed, or what names it */
            subject: string;
            /** @description Why, for the operator who confirms; empty: requested by an earlier version */
            comment: string;
            /** @enum {string} */
            status: "PENDING" | "CONFIRMED" | "DECLINED" | "FAILED" | "EXPIRED";
            requested_by: string;
            decided_by?: string;
            /** Format: date-time */
            decided_at?: string;
            /** @description Of FAILED: why the confirmed call was refused */
            detail?: string;
            /** Format: date-time */
            expires_at: string;
            /** Format: date-time */
            created_at: string;
            /** @description The record as the first operator saw it, as its GET call returns it; only for roles that may confirm, and absent where the call creates a record */
            record?: {
                [key: string]: unknown;
            };
            /** @description The fields of the record that have changed since; only while it can be confirmed */
            changes?: components["schemas"]["FieldChange"][];
            /** @description The version of the record as it is now, for `confirm`; only while it can be confirmed */
            version?: string;
        };
        Client: {
            /** Format: uuid */
            client_id: string;
            /** Format: uuid */
            customer_id: string;
            name: string;
            scopes: string[];
            /** @description Markets that it may publish */
            publish_markets: string[];
            enabled: boolean;
            /** @description The valid ones, without values */
            secrets: components["schemas"]["Secret"][];
            /**
             * Format: date-time
             * @description Tokens that were issued earlier are no longer accepted
             */
            tokens_valid_from?: string;
            /** Format: date-time */
            created_at: string;
        };
        Connection: {
            /** Format: uuid */
            id: string;
            client_id: string;
            customer_id: string;
            client_address: string;
            /** @description Absent: the base protocol */
            subprotocol?: string;
            /** Format: date-time */
            created_at: string;
            subscriptions: number;
            /** @description Whether it lags: it gets conflated updates when its socket has drained */
            behind: boolean;
            /** @description False when it takes nothing of what it is sent: two pongs are missing. Absent from a node of an earlier release */
            reading?: boolean;
            /** @description Since its last pong. Absent before the first */
            pong_age_ms?: number;
            /** @description From the last ping that it answered to its pong */
            round_trip_ms?: number;
            /** @description Bytes that wait in the process */
            queued_bytes: number;
            /** @description Bytes written to its socket */
            bytes_out: number;
            /** @description Conflated UPDATEs that were made for it. Absent from a node of an earlier release */
            conflated_messages?: number;
            /** @description The node that serves it */
            node: string;
        };
        ConnectionDetails: {
            /** Format: uuid */
            id: string;
            client_id: string;
            customer_id: string;
            client_address: string;
            /** @description Absent: the base protocol */
            subprotocol?: string;
            /** Format: date-time */
            created_at: string;
            subscriptions: number;
            /** @description Whether it lags: it gets conflated updates when its socket has drained */
            behind: boolean;
            /** @description False when it takes nothing of what it is sent: two pongs are missing. Absent from a node of an earlier release */
            reading?: boolean;
            /** @description Since its last pong. Absent before the first */
            pong_age_ms?: number;
            /** @description From the last ping that it answered to its pong */
            round_trip_ms?: number;
            /** @description Bytes that wait in the process */
            queued_bytes: number;
            /** @description Bytes written to its socket */
            bytes_out: number;
            /** @description Conflated UPDATEs that were made for it. Absent from a node of an earlier release */
            conflated_messages?: number;
            /** @description The node that serves it */
            node: string;
            /** @description Whether the heartbeat is subscribed */
            heartbeat: boolean;
            /** @description Markets with a subscribed channel */
            market_count: number;
            /** @description The first 500 of them */
            markets: components["schemas"]["SubscribedMarket"][];
        };
        Controls: {
            paused: {
                assets: string[];
                networks: string[];
                pairs: string[];
                deliveries: boolean;
            };
            /**
             * @description The store was restored or promoted; resuming confirms it
             * @constant
             */
            deliveries_paused_because?: "store_restored";
            /**
             * Format: date-time
             * @description Absent: never changed
             */
            updated_at?: string;
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        Customer: {
            /** Format: uuid */
            id: string;
            name: string;
            enabled: boolean;
            /** @description Whether its clients may open the stream */
            streaming: boolean;
            /** Format: date-time */
            created_at: string;
        };
        CustomerProfile: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            customer_id: string;
            nickname?: string;
            /** @enum {string} */
            type: "NORMAL";
            /** Format: date-time */
            created_at: string;
        };
        Delivery: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            status: "WAITING" | "CLAIMED" | "SENT" | "SETTLED" | "FAILED" | "NEEDS_OPERATOR";
            /** @description The fencing token of its present attempt */
            attempt: number;
            asset: string;
            /** @description Decimal text without trailing zeros */
            amount: string;
            fee?: string;
            /** @description Exactly one of crypto, fiat */
            destination: {
                crypto?: {
                    address: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    fiat_account_id: string;
                    memo?: string;
                    /** @enum {string} */
                    network?: "WIRE" | "CUBIX";
                };
            };
            /** Format: uuid */
            customer_id: string;
            /** Format: uuid */
            profile_id: string;
            /** Format: uuid */
            account_id?: string;
            /** Format: uuid */
            orchestration_id?: string;
            /**
             * Format: uuid
             * @description The deposit that it returns
             */
            deposit_id?: string;
            /**
             * @description How it was handed out; absent before
             * @enum {string}
             */
            channel?: "manual" | "webhook";
            executor?: string;
            /** Format: date-time */
            lease_until?: string;
            /** Format: date-time */
            next_attempt_at?: string;
            /** @enum {string} */
            waiting_for?: "HOLD" | "PAUSED";
            waiting_detail?: string;
            /** @description The executor’s name for the payment */
            reference?: string;
            /** @description Settled after it had failed */
            late?: boolean;
            fail_reason?: {
                code: string;
                detail?: string;
            };
            metadata?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            first_attempt_at?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        DeliveryAttempt: {
            attempt: number;
            executor: string;
            /** @enum {string} */
            outcome: "STARTED" | "ACCEPTED" | "REFUSED" | "SETTLED" | "FAILED" | "UNKNOWN";
            detail?: string;
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            ended_at?: string;
        };
        DeliveryWithAttempts: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            status: "WAITING" | "CLAIMED" | "SENT" | "SETTLED" | "FAILED" | "NEEDS_OPERATOR";
            /** @description The fencing token of its present attempt */
            attempt: number;
            asset: string;
            /** @description Decimal text without trailing zeros */
            amount: string;
            fee?: string;
            /** @description Exactly one of crypto, fiat */
            destination: {
                crypto?: {
                    address: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    fiat_account_id: string;
                    memo?: string;
                    /** @enum {string} */
                    network?: "WIRE" | "CUBIX";
                };
            };
            /** Format: uuid */
            customer_id: string;
            /** Format: uuid */
            profile_id: string;
            /** Format: uuid */
            account_id?: string;
            /** Format: uuid */
            orchestration_id?: string;
            /**
             * Format: uuid
             * @description The deposit that it returns
             */
            deposit_id?: string;
            /**
             * @description How it was handed out; absent before
             * @enum {string}
             */
            channel?: "manual" | "webhook";
            executor?: string;
            /** Format: date-time */
            lease_until?: string;
            /** Format: date-time */
            next_attempt_at?: string;
            /** @enum {string} */
            waiting_for?: "HOLD" | "PAUSED";
            waiting_detail?: string;
            /** @description The executor’s name for the payment */
            reference?: string;
            /** @description Settled after it had failed */
            late?: boolean;
            fail_reason?: {
                code: string;
                detail?: string;
            };
            metadata?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            first_attempt_at?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description True until a payment of this customer to the same destination was settled */
            first_to_destination?: boolean;
            attempts: components["schemas"]["DeliveryAttempt"][];
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        Deposit: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            customer_id?: string;
            /**
             * Format: uuid
             * @description Absent: it is unattributed
             */
            profile_id?: string;
            /** Format: uuid */
            account_id?: string;
            asset: string;
            /** @description Decimal text without trailing zeros */
            amount: string;
            /** @enum {string} */
            status: "PENDING" | "COMPLETED" | "FAILED";
            /** @enum {string} */
            secondary_status?: "HELD" | "REJECTED" | "REVERSED" | "RETURNED";
            /** @description Why it was or was not converted */
            disposition?: {
                /** @enum {string} */
                code: "ORCHESTRATED" | "NO_RULE" | "RULE_NOT_ACTIVE" | "NETWORK_MISMATCH" | "ASSET_MISMATCH" | "NOT_CONVERTIBLE" | "BELOW_MINIMUM" | "ACCOUNT_BLOCKED" | "CUSTOMER_DISABLED" | "PAUSED" | "RECEIVABLE" | "HELD" | "REVIEW" | "ASSIGNED" | "CORRECTED" | "UNATTRIBUTED";
            };
            /** @description Of the operator, for the last action */
            reason?: string;
            crypto?: {
                /** @enum {string} */
                network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                address: string;
                tx_hash: string;
                tx_index: number;
            };
            fiat?: {
                /** @enum {string} */
                network: "WIRE" | "CUBIX";
                memo_id?: string;
                remittance?: string;
                bank_reference?: string;
                sender?: string;
            };
            /** Format: uuid */
            deposit_address_id?: string;
            /** Format: uuid */
            deposit_instructions_id?: string;
            /** Format: uuid */
            orchestration_rule_id?: string;
            /** Format: uuid */
            orchestration_id?: string;
            /**
             * Format: uuid
             * @description Of its return
             */
            delivery_id?: string;
            confirmations?: number;
            /** @description The oldest first; absent: none */
            corrections?: components["schemas"]["DepositCorrection"][];
            /** Format: date-time */
            occurred_at: string;
            /** Format: date-time */
            completed_at?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        DepositAddress: {
            /** Format: uuid */
            id: string;
            profile_id: string;
            customer_id: string;
            account_id?: string;
            identity_id?: string;
            ref_id?: string;
            /** @enum {string} */
            crypto_network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
            address: string;
            conversion_target_asset: string;
            compatible_crypto_networks: ("BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR")[];
            metadata: {
                [key: string]: string;
            };
            /** Format: date-time */
            created_at: string;
        };
        DepositCorrection: {
            /** Format: date-time */
            at: string;
            /** @description What it was before */
            before: {
                asset: string;
                amount: string;
                /** Format: uuid */
                profile_id?: string;
                /** @enum {string} */
                secondary_status?: "HELD" | "REJECTED" | "REVERSED" | "RETURNED";
                /** Format: uuid */
                orchestration_id?: string;
            };
            reason: string;
        };
        DepositTrace: {
            deposit: components["schemas"]["Deposit"];
            /** @description Of the deposit’s customer, profile and rule, where these have one */
            names: {
                customer?: string;
                profile?: string;
                rule?: string;
            };
            entries: components["schemas"]["TraceEntry"][];
        };
        DeskItem: {
            asset: string;
            /** @description Received minus paid */
            position: string;
            /** @description How far below zero it may be; absent: no limit */
            limit?: string;
            /** @description Source amounts of orchestrations that are not converted yet */
            committed: string;
            /** @description What all profiles have reserved */
            in_transit: string;
            /** @description What all profiles owe */
            receivable: string;
            /** @description The trade that brings the position back to zero */
            hedge?: {
                /** @enum {string} */
                side: "BUY" | "SELL";
                /** @description Decimal text without trailing zeros */
                amount: string;
            };
        };
        FieldChange: {
            /** @description Its path, such as `destination.crypto.address` */
            field: string;
            /** @description In `record`; absent: it was not there */
            before?: unknown;
            /** @description Absent: it is no longer there */
            now?: unknown;
        };
        Finding: {
            /** @enum {string} */
            verdict: "ok" | "warn" | "bad";
            name: string;
            detail: string;
            next?: string;
        };
        Ledger: {
            /**
             * Format: date-time
             * @description Absent until the first is complete
             */
            compared_at?: string;
            /** @description Whether no comparison was completed within the last hour */
            overdue: boolean;
            /** @description Number of profile balances */
            balances: number;
            differences: {
                account: string;
                asset: string;
                kept: string;
                recomputed: string;
            }[];
            /**
             * Format: date-time
             * @description Absent until all were compared once
             */
            transfers_compared_at?: string;
            /**
             * Format: date-time
             * @description Every posting was read since then; absent until it is known
             */
            postings_read_at?: string;
            /** @description Ranges of postings that were changed, added or removed after they had been read */
            changed_postings: {
                first_id: string;
                last_id: string;
            }[];
        };
        LedgerEntry: {
            /**
             * Format: uuid
             * @description The `group_id` of its postings
             */
            id: string;
            /** @enum {string} */
            kind: "desk_hedge" | "desk_funding" | "desk_withdrawal" | "fee_sweep" | "network_cost" | "debt_repayment" | "write_off";
            legs: {
                asset: string;
                /** @description Decimal text above zero */
                amount: string;
                /**
                 * @description Into or out of the desk or the fees; may be absent where the kind fixes it
                 * @enum {string}
                 */
                direction?: "IN" | "OUT";
            }[];
            /** Format: uuid */
            profile_id?: string;
            /** @description Absent of a reversal */
            reference?: string;
            reason: string;
            /**
             * Format: date-time
             * @description Absent: `created_at`
             */
            effective_at?: string;
            /**
             * Format: uuid
             * @description The entry that this one reverses
             */
            reverses?: string;
            /**
             * Format: uuid
             * @description The entry that reverses this one
             */
            reversed_by?: string;
            /** Format: date-time */
            created_at: string;
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        Level: {
            price: string;
            amount: string;
        };
        Market: {
            symbol: string;
            live: boolean;
            /** @description Why it is not live */
            reason?: string;
            /** Format: date-time */
            stale_since?: string;
            sources: string[];
            source_states: components["schemas"]["MarketSource"][];
            /** @description Published levels per side; 0 = all */
            depth: number;
            /** @description Version of the last commit; 0 before the first */
            version: number;
            /** @description RFC 3339 with nanoseconds */
            committed_at?: string;
            bid_levels: number;
            ask_levels: number;
            best_bid?: components["schemas"]["Level"];
            best_ask?: components["schemas"]["Level"];
            /** @description Connections with a subscription to any of its channels */
            subscribers: number;
        };
        MarketSource: {
            /** @description As the configuration names it */
            source: string;
            live: boolean;
            /** @description Why it is not live */
            reason?: string;
            /**
             * Format: date-time
             * @description When its state changed last
             */
            since: string;
            notices: string[];
            /**
             * @description What proves its book, while it is live
             * @enum {string}
             */
            proof: "CHECKSUM" | "SEQUENCE" | "COMPARISON" | "NONE";
            /** @description Of a market with several sources: its levels in the book */
            levels?: number;
            /**
             * Format: date-time
             * @description The same: when its last book message arrived
             */
            heard_at?: string;
        };
        NewApiToken: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @enum {string} */
            role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
            /** @description The only ones that it may report; absent: all */
            sources?: string[];
            /** @description The only ones that it may deal with; absent: all */
            assets?: string[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at?: string;
            /** @description Returned once; absent in the answer to a confirmation, because whoever requested the call has it */
            token?: string;
        };
        NewClient: {
            /** Format: uuid */
            client_id: string;
            /** Format: uuid */
            customer_id: string;
            name: string;
            scopes: string[];
            /** @description Markets that it may publish */
            publish_markets: string[];
            enabled: boolean;
            /** @description The valid ones, without values */
            secrets: components["schemas"]["Secret"][];
            /**
             * Format: date-time
             * @description Tokens that were issued earlier are no longer accepted
             */
            tokens_valid_from?: string;
            /** Format: date-time */
            created_at: string;
            /** @description Returned once */
            client_secret: string;
            /** @description Base address of the REST API */
            base_url: string;
            /** @description Base address of the token endpoint */
            auth_url: string;
            /** @description Base address of the stream */
            ws_url: string;
        };
        NewOperator: {
            name: string;
            /** @enum {string} */
            role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
            enabled: boolean;
            /** @enum {string} */
            kind: "person" | "built_in";
            /** @description Whether password and one-time codes are set up */
            has_password: boolean;
            /** @description The identity at the outside issuer at which the operator signs in, instead of with a password */
            openid?: {
                issuer: string;
                /** @description The claim `sub` */
                subject: string;
            };
            /** Format: date-time */
            last_login_at?: string;
            /** Format: date-time */
            created_at: string;
            /** @description Without their values */
            tokens: components["schemas"]["ApiToken"][];
            /** @description Returned once: it sets password and one-time codes; absent in the answer to a confirmation, because whoever requested the call has it */
            setup_link?: string;
            /** Format: date-time */
            setup_expires_at?: string;
        };
        NewSecret: {
            /** Format: uuid */
            secret_id: string;
            /** Format: uuid */
            client_id: string;
            /** @description Returned once */
            client_secret: string;
            scopes: string[];
            /** @description Base address of the REST API */
            base_url: string;
            /** @description Base address of the token endpoint */
            auth_url: string;
            /** @description Base address of the stream */
            ws_url: string;
            /** Format: date-time */
            created_at: string;
        };
        Node: {
            /** Format: uuid */
            id: string;
            name: string;
            roles: string[];
            /** @description Of the program */
            version: string;
            started_at: string;
            /** @description Whether its `/readyz` answers 200 */
            ready: boolean;
            /** @description Number of its markets */
            markets: number;
            /** @description Digest of the definitions of its markets */
            definitions: string;
            /** @description Of the customers and clients that it knows; absent while it does not reach the store */
            directory_version?: number;
            /** @description The node that answers */
            self: boolean;
            /** @enum {string} */
            state: "present" | "silent";
            /** Format: date-time */
            seen_at: string;
            /** @description Whether its definitions are those of the node that answers */
            same_definitions: boolean;
        };
        Operator: {
            name: string;
            /** @enum {string} */
            role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
            enabled: boolean;
            /** @enum {string} */
            kind: "person" | "built_in";
            /** @description Whether password and one-time codes are set up */
            has_password: boolean;
            /** @description The identity at the outside issuer at which the operator signs in, instead of with a password */
            openid?: {
                issuer: string;
                /** @description The claim `sub` */
                subject: string;
            };
            /** Format: date-time */
            last_login_at?: string;
            /** Format: date-time */
            created_at: string;
            /** @description Without their values */
            tokens: components["schemas"]["ApiToken"][];
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        OperatorBalance: {
            asset: string;
            /** @description The amount that the profile can use now */
            available: string;
            /** @description Reserved by an orchestration or a withdrawal */
            in_transit: string;
            /** @description Credited and on hold */
            held: string;
            /** @description The amount that the profile owes, such as the part of reversed deposits that it had spent */
            receivable: string;
        };
        OperatorOrchestration: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            customer_id: string;
            /** Format: uuid */
            profile_id: string;
            identity_id?: string;
            /** Format: uuid */
            account_id?: string;
            /** @description Your own id, when you requested the orchestration */
            ref_id?: string;
            /** Format: uuid */
            orchestration_rule_id?: string;
            /** Format: uuid */
            deposit_id?: string;
            /**
             * Format: uuid
             * @description The failed orchestration that this one retries
             */
            retry_of?: string;
            source_asset: string;
            /** @description Decimal text without trailing zeros */
            source_amount: string;
            destination_asset: string;
            /** @description The amount that is delivered or credited; present after the conversion */
            destination_amount?: string;
            /** @description The amount of the destination asset for 1 of the source asset */
            price?: string;
            /** @description `par`, or the symbol of the market */
            price_source?: string;
            /** @description Present after the conversion. The part of the initial amount that is neither fee nor converted stays available */
            receipt?: {
                /** @description Decimal text without trailing zeros */
                initial_amount: string;
                /** @description Decimal text without trailing zeros */
                fee_amount: string;
                /** @description Decimal text without trailing zeros */
                converted_amount: string;
                rate: string;
                /** @description Decimal text without trailing zeros */
                outgoing_amount: string;
            };
            /** @enum {string} */
            status: "PROCESSING" | "COMPLETED" | "FAILED";
            /** @enum {string} */
            waiting_for?: "PRICE" | "PEG" | "SLIPPAGE" | "DESK_LIMIT" | "HOLD" | "PAUSED" | "OPERATOR";
            /**
             * Format: date-time
             * @description The orchestration fails when it is not converted by then; time in HOLD and PAUSED extends it
             */
            expires_at: string;
            /** @description Present when the status is FAILED */
            fail_reason?: {
                code: string;
                detail: string;
            };
            source: {
                crypto?: {
                    /** Format: uuid */
                    address_id?: string;
                    address?: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    /** Format: uuid */
                    deposit_instructions_id?: string;
                    /** @enum {string} */
                    network: "WIRE" | "CUBIX";
                    /** @enum {string} */
                    account_type?: "SWIFT" | "ABA";
                    memo_id?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            /** @description Where the destination asset is delivered: exactly one of crypto, fiat, profile */
            destination: {
                crypto?: {
                    address: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    fiat_account_id: string;
                    memo?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            source_transfer?: {
                /** Format: uuid */
                transfer_id: string;
                /** @enum {string} */
                status: "PENDING" | "COMPLETED" | "FAILED";
            };
            destination_transfer?: {
                /** Format: uuid */
                transfer_id: string;
                /** @enum {string} */
                status: "PENDING" | "COMPLETED" | "FAILED";
            };
            metadata: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @enum {string} */
            step?: "convert" | "deliver";
            waiting_detail?: string;
            /** Format: date-time */
            waiting_since?: string;
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        OperatorRule: {
            /** Format: uuid */
            id: string;
            ref_id: string;
            nickname?: string;
            profile_id: string;
            identity_id?: string;
            account_id?: string;
            /** @enum {string} */
            status: "ACTIVE" | "DELETED" | "PENDING" | "REJECTED";
            /** @description The reason for the rejection of a REJECTED rule */
            reject_reason?: string;
            source_asset: string;
            destination_asset: string;
            source: {
                crypto?: {
                    /** Format: uuid */
                    address_id?: string;
                    address?: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    /** Format: uuid */
                    deposit_instructions_id?: string;
                    /** @enum {string} */
                    network: "WIRE" | "CUBIX";
                    /** @enum {string} */
                    account_type?: "SWIFT" | "ABA";
                    memo_id?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            /** @description Where the destination asset is delivered: exactly one of crypto, fiat, profile */
            destination: {
                crypto?: {
                    address: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    fiat_account_id: string;
                    memo?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            /** Format: date-time */
            created_at: string;
            customer_id: string;
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        OperatorWithLink: {
            name: string;
            /** @enum {string} */
            role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
            enabled: boolean;
            /** @enum {string} */
            kind: "person" | "built_in";
            /** @description Whether password and one-time codes are set up */
            has_password: boolean;
            /** @description The identity at the outside issuer at which the operator signs in, instead of with a password */
            openid?: {
                issuer: string;
                /** @description The claim `sub` */
                subject: string;
            };
            /** Format: date-time */
            last_login_at?: string;
            /** Format: date-time */
            created_at: string;
            /** @description Without their values */
            tokens: components["schemas"]["ApiToken"][];
            /** @description Returned once: it sets password and one-time codes; absent in the answer to a confirmation, because whoever requested the call has it */
            setup_link?: string;
            /** Format: date-time */
            setup_expires_at: string;
        };
        Overview: {
            version: string;
            /** Format: date-time */
            started_at: string;
            ready: boolean;
            checks: {
                name: string;
                ok: boolean;
                detail: string;
            }[];
            interval_seconds: number;
            history: components["schemas"]["OverviewPoint"][];
        };
        OverviewPoint: {
            /** Format: date-time */
            at: string;
            connections: number;
            lagging: number;
            queued_bytes: number;
            messages_per_second?: number;
            bytes_per_second?: number;
            latency_p50_ms?: number;
            latency_p99_ms?: number;
            cpu_percent?: number;
            memory_bytes: number;
        };
        Price: {
            /** Format: uuid */
            orchestration_id: string;
            source_asset: string;
            /** @description Decimal text without trailing zeros */
            source_amount: string;
            destination_asset: string;
            /** @description Decimal text without trailing zeros */
            destination_amount: string;
            price?: string;
            /** @description `par`, or the symbol of the market */
            price_source?: string;
            /** @description All inputs from which price and amounts were computed */
            evidence: {
                /** @constant */
                kind: "par";
                source: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                /** @description Decimal text without trailing zeros */
                converted_amount: string;
                /** @description Finer than the decimals of the destination asset; stays with the profile */
                remainder: string;
                destination: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                /** @description The markets of the pair; empty where it has none, and no book was needed */
                pegs: {
                    market: {
                        symbol: string;
                        base_asset: string;
                        quote_asset: string;
                        price_decimals: number;
                    };
                    /** @description Conversions of earlier versions have no `cursor` and `time` */
                    book: {
                        /** @description Of the `market_data` message that made this book, at the depth of the market */
                        cursor?: string;
                        /** @description Of its UPDATE, exactly as sent */
                        time?: string;
                        simulated: boolean;
                        best_bid: string;
                        best_ask: string;
                        /** @description One fraction digit more than prices have */
                        mid: string;
                    };
                }[];
                settings: {
                    peg_bps_max: number;
                    book_age_seconds_max: number;
                };
            } | {
                /** @constant */
                kind: "market";
                market: {
                    symbol: string;
                    base_asset: string;
                    quote_asset: string;
                    price_decimals: number;
                };
                /** @enum {string} */
                side: "bids" | "asks";
                /** @description Conversions of earlier versions have no `cursor` and `time` */
                book: {
                    /** @description Of the `market_data` message that made this book, at the depth of the market */
                    cursor?: string;
                    /** @description Of its UPDATE, exactly as sent */
                    time?: string;
                    simulated: boolean;
                    best_bid: string;
                    best_ask: string;
                    /** @description One fraction digit more than prices have */
                    mid: string;
                };
                /** @description Decimal text without trailing zeros */
                taken_before: string;
                /** @description The levels that were used, from the best one */
                levels: {
                    price: string;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                    /** @description What other conversions had taken of it in the last `depth_seconds` */
                    taken_before: string;
                    /** @description Decimal text without trailing zeros */
                    taken: string;
                }[];
                source: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                /** @description The exact sum over the levels */
                base_amount: string;
                /** @description The exact sum over the levels */
                quote_amount: string;
                destination: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                price: string;
                settings: {
                    slippage_bps_max: number;
                    depth_seconds: number;
                    book_age_seconds_max: number;
                    /** @description In the quote asset */
                    notional_max?: string;
                };
            };
            explanation: {
                /** @description Whether every stored value equals the recomputed one */
                adds_up: boolean;
                /** @description The computation, one sentence per step */
                steps: string[];
                differences: {
                    value: string;
                    stored: string;
                    recomputed: string;
                }[];
            };
            /** Format: date-time */
            created_at: string;
        };
        /** @description The best prices of the book, as exact text */
        Prices: {
            symbol: string;
            /** @description Time between two points while the market was live */
            interval_seconds: number;
            /** @description Oldest first; since the start of the process that is asked, at most one hour */
            items: {
                /** Format: date-time */
                at: string;
                bid: string;
                ask: string;
            }[];
        };
        /** @description RFC 9457. `code` is stable: switch on it, not on the texts. */
        Problem: {
            /** @constant */
            type: "about:blank";
            /** @description The standard phrase of the status */
            title: string;
            status: number;
            /** @description The field and the rule that it violates, for people */
            detail: string;
            /** @enum {string} */
            code: "invalid_request" | "invalid_cursor" | "own_address" | "bad_handshake" | "unauthorized" | "invalid_token" | "insufficient_scope" | "login_failed" | "setup_link_invalid" | "session_ended" | "insufficient_role" | "outside_binding" | "login_unavailable" | "own_request" | "csrf_failed" | "disabled" | "not_allowed" | "foreign_origin" | "quota_exceeded" | "account_blocked" | "insufficient_funds" | "receivable" | "paused" | "not_found" | "method_not_allowed" | "request_timeout" | "already_exists" | "invalid_state" | "earlier_attempt_unknown" | "record_changed" | "deposit_conflict" | "ambiguous_payment" | "body_too_large" | "unsupported_media_type" | "misdirected_request" | "upgrade_required" | "too_many_connections" | "too_many_unread_answers" | "rate_limited" | "daily_quota_exceeded" | "headers_too_large" | "internal" | "unavailable" | "address_unavailable" | "pool_empty" | "pool_reserved";
            /** Format: uuid */
            request_id: string;
            /** @description The violated rules, up to 20 */
            errors?: {
                /** @description Name of a parameter in the URL */
                parameter?: string;
                /** @description JSON pointer to a member of the body (RFC 6901) */
                pointer?: string;
                detail: string;
            }[];
            /** @description Facts for the reaction to the `code`, which are described with it */
            meta?: {
                /** @description The existing record */
                existing?: {
                    [key: string]: unknown;
                };
                /** @description The current state */
                current?: string;
                /** @description The current attempt of a delivery */
                attempt?: number;
                /** @description The profile that the record belongs to */
                profile_id?: string;
                /** @description The valid secrets of a client that may have no further one */
                secrets?: {
                    id: string;
                    /** Format: date-time */
                    created_at: string;
                    /** Format: date-time */
                    last_used_at?: string;
                }[];
                /**
                 * @description The status of the account
                 * @enum {string}
                 */
                summary_status?: "DISABLED" | "DENIED" | "ERROR";
                /** @description How many the customer may have or create */
                limit?: number;
                /** @description How many it has or has created */
                used?: number;
                /** @description The amount that the profile has available */
                available?: string;
                /** @description The amount that is needed, or the lowest role that may make the call */
                needed?: string;
                /** @description The role of the operator */
                role?: string;
                /** @description Attempts of the delivery that may have been paid, up to 20 */
                attempts?: {
                    attempt: number;
                    executor: string;
                }[];
                /** @description The members that differ */
                fields?: string[];
                /** @description The deposit that is known */
                deposit_id?: string;
                /**
                 * Format: date-time
                 * @description The last recorded time before the one that was asked for
                 */
                recorded_before?: string;
                /**
                 * Format: date-time
                 * @description The first recorded time after it
                 */
                recorded_after?: string;
            };
        };
        QuotaUse: {
            limit: number;
            used: number;
        };
        Quotas: {
            /** Format: uuid */
            customer_id: string;
            accounts: components["schemas"]["QuotaUse"];
            addresses: components["schemas"]["QuotaUse"];
            rules: components["schemas"]["QuotaUse"];
            creations_today: {
                limit: number;
                used: number;
                resets_in_seconds: number;
            };
        };
        ReceiptKey: {
            id: string;
            /** @enum {string} */
            state: "signing" | "ended";
            algorithm: string;
            /** Format: date-time */
            created_at: string;
        };
        ReviewNote: {
            /** Format: uuid */
            id: string;
            text: string;
            /** @description Name of the operator */
            author: string;
            /** Format: date-time */
            created_at: string;
        };
        ReviewNotePage: {
            items: components["schemas"]["ReviewNote"][];
            /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
            next_page_cursor?: string;
        };
        ReviewedAccount: {
            id: string;
            identity_id: string;
            description?: string;
            admin_disabled: boolean;
            user_disabled: boolean;
            metadata: {
                [key: string]: unknown;
            };
            ref_id?: string;
            members: components["schemas"]["AccountMember"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            profile_id?: string;
            /** @enum {string} */
            summary_status: "PENDING" | "ERROR" | "APPROVED" | "DENIED" | "DISABLED";
            /** @enum {string} */
            type: "BROKERAGE" | "TRADITIONAL_IRA" | "ROTH_IRA" | "SEP_IRA" | "FINANCIAL_ADVISOR";
            customer_id: string;
            /** @description The change requests about the record that wait for a second operator; only where one record is read */
            pending_requests?: {
                /** Format: uuid */
                id: string;
                summary: string;
                requested_by: string;
                comment: string;
                /** Format: date-time */
                created_at: string;
            }[];
        };
        Secret: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last got or revoked a token: up to a minute late
             */
            last_used_at?: string;
        };
        Session: {
            operator: {
                name: string;
                /** @enum {string} */
                role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
            };
            /** @enum {string} */
            via: "session" | "api_token" | "operator_token";
            /** @description Method and path of every call that the role may make */
            allows: string[];
            /** @description The setting `operator.four_eyes` */
            four_eyes: string[];
            /** @description Only of a session: whether the person signs in with a password, and may change it */
            has_password?: boolean;
            /** @description Only of a session: for `X-CSRF-Token`, which every call with the cookie needs */
            csrf_token?: string;
            /** Format: date-time */
            expires_at?: string;
            /** @description Only of a session: it ends after so long without a request */
            idle_seconds?: number;
            /** @description Only of a session: attempts with this name that failed between this login and the one before */
            failed_logins?: {
                count: number;
                /** Format: date-time */
                last_at: string;
            };
        };
        Setting: {
            key: string;
            value: unknown;
            /** @description `default`, a flag, a variable or a file */
            origin: string;
            /** @description Whether a reload applies a new value */
            live: boolean;
            meaning: string;
        };
        SignedOut: {
            /** @description Only of a person who signed in at an issuer that has one: the page that signs out there too */
            issuer_logout?: string;
        };
        SigningKey: {
            id: string;
            /** @enum {string} */
            state: "coming" | "signing" | "verifying" | "retired" | "revoked";
            algorithm: string;
            /** Format: date-time */
            signs_from: string;
            /** Format: date-time */
            signs_until?: string;
            /** Format: date-time */
            retired_at?: string;
            /** Format: date-time */
            revoked_at?: string;
            /** Format: date-time */
            created_at: string;
        };
        Statement: {
            /** Format: uuid */
            profile_id: string;
            /** Format: date-time */
            from: string;
            /**
             * Format: date-time
             * @description Not included
             */
            to: string;
            assets: {
                asset: string;
                opening: components["schemas"]["StatementBalances"];
                lines: components["schemas"]["StatementLine"][];
                closing: components["schemas"]["StatementBalances"];
            }[];
        };
        StatementBalances: {
            /** @description Available, in transit and held together, less what is owed */
            balance: string;
            available: string;
            in_transit: string;
            held: string;
            receivable: string;
        };
        StatementLine: {
            posting_id: string;
            /** Format: uuid */
            group_id: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            effective_at: string;
            debit: string;
            /** @description Of an account of another profile */
            debit_profile_id?: string;
            credit: string;
            /** @description Of an account of another profile */
            credit_profile_id?: string;
            /** @description Decimal text without trailing zeros, such as 12.5 */
            amount: string;
            /** @description Change of the balance: `0` when the money stays with the profile */
            change: string;
            /** @description After this line */
            balance: string;
        };
        SubscribedMarket: {
            market: string;
            channels: {
                type: string;
                /** @description As it was chosen; absent: the published one */
                depth?: number;
                /** @description As it was chosen; absent: every change */
                interval_ms?: number;
                /** @description Whether its levels name their venues */
                attribution?: boolean;
            }[];
            /** @description Whether it is owed something that is sent when the connection has drained */
            behind: boolean;
            /** @description Version of the book that was sent last; absent before the first, and without market_data */
            version?: number;
            /** @description Version of the market now, in the same process */
            current_version: number;
            /** @description The last digest of its book, which heartbeats of the extended protocol carry */
            last_digest?: {
                digest: string;
                /** @description Cursor of the last message of the book before that heartbeat */
                cursor: string;
                /** Format: date-time */
                sent_at: string;
            };
        };
        TraceEntry: {
            /** Format: date-time */
            at: string;
            /** @enum {string} */
            kind: "sighting" | "audit" | "posting" | "orchestration" | "conversion" | "delivery" | "attempt";
            text: string;
            detail: {
                [key: string]: unknown;
            };
        };
    };
    responses: {
        /** @description `invalid_request`: a parameter, member or header breaks its rule; `errors` names field and rule */
        "400.invalid_request": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 400;
                    /** @enum {string} */
                    code?: "invalid_request";
                };
            };
        };
        /** @description `invalid_request`: a parameter, member or header breaks its rule; `errors` names field and rule; `invalid_cursor`: the cursor is malformed, or of another list, filter or order */
        "400.invalid_request.invalid_cursor": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 400;
                    /** @enum {string} */
                    code?: "invalid_request" | "invalid_cursor";
                };
            };
        };
        /** @description `invalid_request`: a parameter, member or header breaks its rule; `errors` names field and rule; `own_address`: the destination is a deposit address of this service: name its profile as the destination instead */
        "400.invalid_request.own_address": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 400;
                    /** @enum {string} */
                    code?: "invalid_request" | "own_address";
                };
            };
        };
        /** @description `login_failed`: name, password or one-time code are not right, the code was used before, or the operator is disabled */
        "401.login_failed": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 401;
                    /** @enum {string} */
                    code?: "login_failed";
                };
            };
        };
        /** @description `login_failed`: name, password or one-time code are not right, the code was used before, or the operator is disabled; `setup_link_invalid`: the setup link was used, has expired, or was replaced by a newer one */
        "401.login_failed.setup_link_invalid": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 401;
                    /** @enum {string} */
                    code?: "login_failed" | "setup_link_invalid";
                };
            };
        };
        /** @description `setup_link_invalid`: the setup link was used, has expired, or was replaced by a newer one */
        "401.setup_link_invalid": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 401;
                    /** @enum {string} */
                    code?: "setup_link_invalid";
                };
            };
        };
        /** @description `unauthorized`: a bearer token is required; `invalid_token`: the bearer token is malformed, expired, revoked, or not of the issuer that the service trusts; `login_failed`: name, password or one-time code are not right, the code was used before, or the operator is disabled; `session_ended`: the operator’s session has ended: sign in again */
        "401.unauthorized.invalid_token.login_failed.session_ended": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 401;
                    /** @enum {string} */
                    code?: "unauthorized" | "invalid_token" | "login_failed" | "session_ended";
                };
            };
        };
        /** @description `unauthorized`: a bearer token is required; `invalid_token`: the bearer token is malformed, expired, revoked, or not of the issuer that the service trusts; `session_ended`: the operator’s session has ended: sign in again */
        "401.unauthorized.invalid_token.session_ended": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 401;
                    /** @enum {string} */
                    code?: "unauthorized" | "invalid_token" | "session_ended";
                };
            };
        };
        /** @description `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page */
        "403.foreign_origin": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "foreign_origin";
                };
            };
        };
        /** @description `insufficient_role`: the role of the operator does not include this call; `meta.role` is the role, `meta.needed` the lowest one; `csrf_failed`: a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page */
        "403.insufficient_role.csrf_failed.foreign_origin": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_role" | "csrf_failed" | "foreign_origin";
                };
            };
        };
        /** @description `insufficient_role`: the role of the operator does not include this call; `meta.role` is the role, `meta.needed` the lowest one; `csrf_failed`: a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page; `insufficient_funds`: the profile has less of the asset available than is needed; `meta.available` and `meta.needed` say how much */
        "403.insufficient_role.csrf_failed.foreign_origin.insufficient_funds": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_role" | "csrf_failed" | "foreign_origin" | "insufficient_funds";
                };
            };
        };
        /** @description `insufficient_role`: the role of the operator does not include this call; `meta.role` is the role, `meta.needed` the lowest one; `csrf_failed`: a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page; `quota_exceeded`: the customer, or the record in the path, has as many records of this kind as it may have; `meta.limit` and `meta.used` say how many */
        "403.insufficient_role.csrf_failed.foreign_origin.quota_exceeded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_role" | "csrf_failed" | "foreign_origin" | "quota_exceeded";
                };
            };
        };
        /** @description `insufficient_role`: the role of the operator does not include this call; `meta.role` is the role, `meta.needed` the lowest one; `csrf_failed`: a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page; `quota_exceeded`: the customer, or the record in the path, has as many records of this kind as it may have; `meta.limit` and `meta.used` say how many; `account_blocked`: the account of the profile is DISABLED, DENIED or ERROR: the profile gets no new addresses or rules; `meta.summary_status` names the status */
        "403.insufficient_role.csrf_failed.foreign_origin.quota_exceeded.account_blocked": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_role" | "csrf_failed" | "foreign_origin" | "quota_exceeded" | "account_blocked";
                };
            };
        };
        /** @description `insufficient_role`: the role of the operator does not include this call; `meta.role` is the role, `meta.needed` the lowest one; `login_unavailable`: operators sign in with a password only over TLS or from the machine of the service; `csrf_failed`: a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page */
        "403.insufficient_role.login_unavailable.csrf_failed.foreign_origin": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_role" | "login_unavailable" | "csrf_failed" | "foreign_origin";
                };
            };
        };
        /** @description `insufficient_role`: the role of the operator does not include this call; `meta.role` is the role, `meta.needed` the lowest one; `outside_binding`: the machine’s token is bound to other sources or assets, or another executor made the attempt; `csrf_failed`: a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page */
        "403.insufficient_role.outside_binding.csrf_failed.foreign_origin": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_role" | "outside_binding" | "csrf_failed" | "foreign_origin";
                };
            };
        };
        /** @description `insufficient_role`: the role of the operator does not include this call; `meta.role` is the role, `meta.needed` the lowest one; `outside_binding`: the machine’s token is bound to other sources or assets, or another executor made the attempt; `own_request`: another person must confirm a request: not its operator, no operator whose credentials one of the two has issued to the other, and not the single token; `csrf_failed`: a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page; `quota_exceeded`: the customer, or the record in the path, has as many records of this kind as it may have; `meta.limit` and `meta.used` say how many; `account_blocked`: the account of the profile is DISABLED, DENIED or ERROR: the profile gets no new addresses or rules; `meta.summary_status` names the status; `insufficient_funds`: the profile has less of the asset available than is needed; `meta.available` and `meta.needed` say how much */
        "403.insufficient_role.outside_binding.own_request.csrf_failed.foreign_origin.quota_exceeded.account_blocked.insufficient_funds": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_role" | "outside_binding" | "own_request" | "csrf_failed" | "foreign_origin" | "quota_exceeded" | "account_blocked" | "insufficient_funds";
                };
            };
        };
        /** @description `login_unavailable`: operators sign in with a password only over TLS or from the machine of the service; `foreign_origin`: a web page of another origin may not call the operator listener, nor get a token of the demo page */
        "403.login_unavailable.foreign_origin": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "login_unavailable" | "foreign_origin";
                };
            };
        };
        /** @description `not_found`: there is nothing at this path, or with this id */
        "404.not_found": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 404;
                    /** @enum {string} */
                    code?: "not_found";
                };
            };
        };
        /** @description `request_timeout`: the request came too slowly */
        "408.request_timeout": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 408;
                    /** @enum {string} */
                    code?: "request_timeout";
                };
            };
        };
        /** @description `already_exists`: the name is taken; `meta.existing` holds that record */
        "409.already_exists": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "already_exists";
                };
            };
        };
        /** @description `already_exists`: the name is taken; `meta.existing` holds that record; `deposit_conflict`: the payment is known with other terms, and nothing was credited; `meta.fields` names what differs, `meta.deposit_id` the deposit; `ambiguous_payment`: it may be the payment of the deposit `meta.deposit_id`, and nothing was credited: one of them has no `bank_reference` */
        "409.already_exists.deposit_conflict.ambiguous_payment": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "already_exists" | "deposit_conflict" | "ambiguous_payment";
                };
            };
        };
        /** @description `already_exists`: the name is taken; `meta.existing` holds that record; `invalid_state`: the record is in a state that does not allow this */
        "409.already_exists.invalid_state": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "already_exists" | "invalid_state";
                };
            };
        };
        /** @description `already_exists`: the name is taken; `meta.existing` holds that record; `invalid_state`: the record is in a state that does not allow this; `earlier_attempt_unknown`: an attempt of the delivery may have been paid; `meta.attempts` names such attempts with their executors. Only these or a person can state `earlier_attempts`: `not_paid` */
        "409.already_exists.invalid_state.earlier_attempt_unknown": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "already_exists" | "invalid_state" | "earlier_attempt_unknown";
                };
            };
        };
        /** @description `already_exists`: the name is taken; `meta.existing` holds that record; `invalid_state`: the record is in a state that does not allow this; `earlier_attempt_unknown`: an attempt of the delivery may have been paid; `meta.attempts` names such attempts with their executors. Only these or a person can state `earlier_attempts`: `not_paid`; `record_changed`: the record has another version than the one that the call names: read it again; `deposit_conflict`: the payment is known with other terms, and nothing was credited; `meta.fields` names what differs, `meta.deposit_id` the deposit; `ambiguous_payment`: it may be the payment of the deposit `meta.deposit_id`, and nothing was credited: one of them has no `bank_reference` */
        "409.already_exists.invalid_state.earlier_attempt_unknown.record_changed.deposit_conflict.ambiguous_payment": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "already_exists" | "invalid_state" | "earlier_attempt_unknown" | "record_changed" | "deposit_conflict" | "ambiguous_payment";
                };
            };
        };
        /** @description `invalid_state`: the record is in a state that does not allow this */
        "409.invalid_state": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "invalid_state";
                };
            };
        };
        /** @description `body_too_large`: the body is over its limit */
        "413.body_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 413;
                    /** @enum {string} */
                    code?: "body_too_large";
                };
            };
        };
        /** @description `unsupported_media_type`: the body is of a type that the resource does not take, or has a `Content-Encoding` */
        "415.unsupported_media_type": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 415;
                    /** @enum {string} */
                    code?: "unsupported_media_type";
                };
            };
        };
        /** @description `misdirected_request`: `Host` is no IP address and no name that the operator listener answers to (`operator.allowed_hosts`) */
        "421.misdirected_request": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 421;
                    /** @enum {string} */
                    code?: "misdirected_request";
                };
            };
        };
        /** @description `too_many_unread_answers`: the client has not read the answers it has; `Retry-After` says when to try again */
        "429.too_many_unread_answers": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 429;
                    /** @enum {string} */
                    code?: "too_many_unread_answers";
                };
            };
        };
        /** @description `too_many_unread_answers`: the client has not read the answers it has; `Retry-After` says when to try again; `daily_quota_exceeded`: the customer has created as many records as it may in one UTC day; `Retry-After` says when the day ends, `meta.limit` and `meta.used` how many */
        "429.too_many_unread_answers.daily_quota_exceeded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 429;
                    /** @enum {string} */
                    code?: "too_many_unread_answers" | "daily_quota_exceeded";
                };
            };
        };
        /** @description `too_many_unread_answers`: the client has not read the answers it has; `Retry-After` says when to try again; `rate_limited`: too many requests; `Retry-After` says when the next one is answered */
        "429.too_many_unread_answers.rate_limited": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 429;
                    /** @enum {string} */
                    code?: "too_many_unread_answers" | "rate_limited";
                };
            };
        };
        /** @description `headers_too_large`: the head of the request is over its limit */
        "431.headers_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 431;
                    /** @enum {string} */
                    code?: "headers_too_large";
                };
            };
        };
        /** @description `internal`: an error on our side; quote `request_id` */
        "500.internal": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 500;
                    /** @enum {string} */
                    code?: "internal";
                };
            };
        };
        /** @description `unavailable`: the store is unavailable or did not answer in time, or the node is starting, full or shutting down */
        "503.unavailable": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 503;
                    /** @enum {string} */
                    code?: "unavailable";
                };
            };
        };
        /** @description `unavailable`: the store is unavailable or did not answer in time, or the node is starting, full or shutting down; `address_unavailable`: the service has no key for addresses of this network; `pool_empty`: every imported address of this network is in use; `pool_reserved`: the few imported addresses left on this network are kept for customers that have received fewer */
        "503.unavailable.address_unavailable.pool_empty.pool_reserved": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 503;
                    /** @enum {string} */
                    code?: "unavailable" | "address_unavailable" | "pool_empty" | "pool_reserved";
                };
            };
        };
        /** @description Another problem: see its `code` */
        Problem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Id of the request, also in the service log: quote it in support requests */
        "X-Request-Id": string;
        /** @description Whole seconds after which the request may be sent again */
        "Retry-After": string;
        /** @description The reason for the rejection (RFC 6750 section 3) */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether a password would be accepted over this connection */
                        password: boolean;
                        /** @description Why not */
                        password_reason?: string;
                        /** @description Only with an outside issuer */
                        openid?: {
                            /** @description The address that begins a login: a page to open, with `return` */
                            start: string;
                            /** @description The host of the issuer */
                            label: string;
                            /** @description Why the last login of this browser, a moment ago, did not succeed */
                            refusal?: {
                                /** @enum {string} */
                                reason: "denied" | "disabled" | "expired" | "failed" | "rate_limited" | "unavailable" | "unknown_operator";
                                /** @description The person’s own id at the issuer */
                                subject?: string;
                            };
                        };
                        /** @description Whether no admin can sign in yet */
                        needs_setup: boolean;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            403: components["responses"]["403.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    password: string;
                    /** @description The code of the authenticator app */
                    totp: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.login_failed"];
            403: components["responses"]["403.login_unavailable.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedOut"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postSetup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                    /** @description Small letters, digits, and . _ @ - after the first character */
                    name?: string;
                    password?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Absent for the first admin, who chooses one */
                        name?: string;
                        /** @enum {string} */
                        role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
                        /**
                         * Format: date-time
                         * @description Without a password: when the link ends
                         */
                        expires_at?: string;
                        /** @description With a password: the secret of the one-time codes, also as an address for authenticator apps */
                        totp?: {
                            /** @description In base 32 */
                            secret: string;
                            uri: string;
                        };
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.setup_link_invalid"];
            403: components["responses"]["403.login_unavailable.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postSetupConfirm: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                    /** @description The code of the authenticator app */
                    totp: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.login_failed.setup_link_invalid"];
            403: components["responses"]["403.login_unavailable.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getLoginOpenid: {
        parameters: {
            query?: {
                /** @description Path of the page of the console to show afterwards */
                return?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description To the issuer, or to the login page with the reason */
            302: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Where the browser is sent */
                    Location?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.invalid_request"];
            403: components["responses"]["403.login_unavailable.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getLoginOpenidCallback: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description To the console: signed in, or to the login page with the reason */
            302: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Where the browser is sent */
                    Location?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.invalid_request"];
            403: components["responses"]["403.login_unavailable.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postSessionPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    password: string;
                    /** @description The code of the authenticator app */
                    totp: string;
                    new_password: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Other sessions of the person, which have ended */
                        ended_sessions: number;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.login_failed.session_ended"];
            403: components["responses"]["403.insufficient_role.login_unavailable.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postSessionAuthenticator: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    password: string;
                    /** @description The code of the authenticator app */
                    totp: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description For `POST /setup/confirm` with the first code; until then the old one is valid */
                        token: string;
                        /** Format: date-time */
                        expires_at: string;
                        /** @description The secret of the new one-time codes */
                        totp: {
                            /** @description In base 32 */
                            secret: string;
                            uri: string;
                        };
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.login_failed.session_ended"];
            403: components["responses"]["403.insufficient_role.login_unavailable.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getChangeRequests: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                status?: "PENDING" | "CONFIRMED" | "DECLINED" | "FAILED" | "EXPIRED";
                subject?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ChangeRequest"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getChangeRequestsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequestWithRecord"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postChangeRequestsByIdConfirm: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Of the record that was seen: `version` of the request */
                    version: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["400.invalid_request.own_address"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.outside_binding.own_request.csrf_failed.foreign_origin.quota_exceeded.account_blocked.insufficient_funds"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state.earlier_attempt_unknown.record_changed.deposit_conflict.ambiguous_payment"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.daily_quota_exceeded"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.address_unavailable.pool_empty.pool_reserved"];
            default: components["responses"]["Problem"];
        };
    };
    postChangeRequestsByIdDecline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeRequest"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDoctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        findings: components["schemas"]["Finding"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Setting"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getCustomers: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                name?: string;
                /** @description The beginning of the name; the case of letters does not matter */
                search?: string;
                /** @description Up to 100 ids, separated by commas */
                ids?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Customer"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postCustomers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    streaming?: boolean;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Customer"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getCustomersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Customer"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    patchCustomersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled?: boolean;
                    streaming?: boolean;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Customer"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getCustomersByIdClients: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                name?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Client"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postCustomersByIdClients: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    scopes: ("exchange:read_aggregated_marketdata_stream" | "exchange:publish_marketdata" | "orchestration:read_orchestration_rule" | "orchestration:write_orchestration_rule" | "orchestration:read_orchestration" | "orchestration:write_orchestration" | "identity:read_account" | "identity:write_account" | "transfer:read_deposit_address" | "transfer:write_deposit_address" | "transfer:read_transfer" | "funding:read_profile" | "funding:write_sandbox_deposit")[];
                    publish_markets?: string[];
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewClient"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getClients: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                name?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Client"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getClientsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    patchClientsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled?: boolean;
                    scopes?: ("exchange:read_aggregated_marketdata_stream" | "exchange:publish_marketdata" | "orchestration:read_orchestration_rule" | "orchestration:write_orchestration_rule" | "orchestration:read_orchestration" | "orchestration:write_orchestration" | "identity:read_account" | "identity:write_account" | "transfer:read_deposit_address" | "transfer:write_deposit_address" | "transfer:read_transfer" | "funding:read_profile" | "funding:write_sandbox_deposit")[];
                    publish_markets?: string[];
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postClientsByIdRevokeTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postClientsByIdSecrets: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewSecret"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    deleteClientsByIdSecretsBySecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                secret: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getSigningKeys: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["SigningKey"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postSigningKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SigningKey"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    deleteSigningKeysById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SigningKey"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postSigningKeysEncrypt: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        encryption_key_id: string;
                        signing_keys: number;
                        receipt_keys: number;
                        pepper: boolean;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getReceiptKeys: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ReceiptKey"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postReceiptKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptKey"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getAudit: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                actor?: string;
                subject?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AuditEntry"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getOperators: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Operator"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postOperators: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Small letters, digits, and . _ @ - after the first character */
                    name: string;
                    /** @enum {string} */
                    role: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
                    /** @description The claim `sub` of the person at the issuer of `operator.oidc.issuer` */
                    subject?: string;
                    /** @description Required while `operator.four_eyes` lists `operators`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewOperator"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                        /** @description Returned once, and not valid before the confirmation; absent: none is issued, or it was returned before */
                        setup_link?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getOperatorsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operator"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    patchOperatorsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    role?: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
                    enabled?: boolean;
                    subject?: string | null;
                    /** @description Required while `operator.four_eyes` lists `operators`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operator"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postOperatorsSetupLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The file of the data folder that has the link */
                        file: string;
                        /** @description Returned once: it sets password and one-time codes */
                        setup_link: string;
                        /** Format: date-time */
                        setup_expires_at: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postOperatorsByNameReset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Required while `operator.four_eyes` lists `operators`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorWithLink"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                        /** @description Returned once, and not valid before the confirmation; absent: none is issued, or it was returned before */
                        setup_link?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postOperatorsByNameTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** @enum {string} */
                    role?: "viewer" | "reviewer" | "treasurer" | "admin" | "deposit_reporter" | "executor";
                    sources?: string[];
                    assets?: string[];
                    /** @description Required while `operator.four_eyes` lists `operators`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewApiToken"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                        /** @description Returned once, and not valid before the confirmation; absent: none is issued, or it was returned before */
                        token?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    deleteOperatorsByNameTokensById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operator"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getNodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Node"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getConnections: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                client_id?: string;
                customer_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Connection"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                        nodes: {
                            node: string;
                            /** @description Its connections that match, on this page or another */
                            connections?: number;
                            /** @description Why its connections are missing in the list */
                            problem?: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getConnectionsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionDetails"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    deleteConnectionsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Connection"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getMarkets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Market"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getMarketsBySymbolBook: {
        parameters: {
            query?: {
                at?: string;
                executions?: string;
                depth?: string;
            };
            header?: never;
            path: {
                symbol: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Book"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getMarketsBySymbolPrices: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                symbol: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Prices"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getAccounts: {
        parameters: {
            query?: {
                /** @description Ordering method */
                order_by?: "CREATED_AT";
                /** @description Filter by primary identity */
                identity_id?: string;
                /** @description Created strictly before; at most 9 fraction digits */
                "created_at.lt"?: string;
                /** @description Created at or before; at most 9 fraction digits */
                "created_at.lte"?: string;
                /** @description Created exactly at; at most 9 fraction digits */
                "created_at.eq"?: string;
                /** @description Created at or after; at most 9 fraction digits */
                "created_at.gte"?: string;
                /** @description Created strictly after; at most 9 fraction digits */
                "created_at.gt"?: string;
                /** @description Last updated strictly before; at most 9 fraction digits */
                "updated_at.lt"?: string;
                /** @description Last updated at or before; at most 9 fraction digits */
                "updated_at.lte"?: string;
                /** @description Last updated exactly at; at most 9 fraction digits */
                "updated_at.eq"?: string;
                /** @description Last updated at or after; at most 9 fraction digits */
                "updated_at.gte"?: string;
                /** @description Last updated strictly after; at most 9 fraction digits */
                "updated_at.gt"?: string;
                /** @description Filter by customer */
                customer_id?: string;
                /** @description Filter by summary statuses */
                summary_status?: ("PENDING" | "ERROR" | "APPROVED" | "DENIED" | "DISABLED")[];
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ReviewedAccount"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getAccountsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewedAccount"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    patchAccountsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    summary_status?: "PENDING" | "ERROR" | "APPROVED" | "DENIED" | "DISABLED";
                    admin_disabled?: boolean;
                    /** @description Required while `operator.four_eyes` lists `approvals`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewedAccount"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getAccountsByIdNotes: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewNotePage"];
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postAccountsByIdNotes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description At most 200 notes belong to one record. Repeating the newest one adds none */
                    text: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewNote"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin.quota_exceeded"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getCustomersByIdProfiles: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["CustomerProfile"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postCustomersByIdProfiles: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    nickname: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomerProfile"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin.quota_exceeded"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.daily_quota_exceeded"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getCustomersByIdQuotas: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Quotas"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getAddressPool: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AddressPool"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postAddressPool: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    network: "SOLANA" | "STELLAR";
                    addresses: string[];
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        network: "SOLANA" | "STELLAR";
                        /** @description Addresses that are not allocated yet */
                        free: number;
                        used: number;
                        added: number;
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDepositAddresses: {
        parameters: {
            query: {
                address: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["DepositAddress"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getProfilesByIdBalances: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OperatorBalance"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getProfilesByIdStatement: {
        parameters: {
            query: {
                from: string;
                to: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Statement"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getLedger: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ledger"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getLedgerEntries: {
        parameters: {
            query?: {
                /** @description Filter by kinds */
                kind?: ("desk_hedge" | "desk_funding" | "desk_withdrawal" | "fee_sweep" | "network_cost" | "debt_repayment" | "write_off")[];
                /** @description Filter by references */
                reference?: string[];
                /** @description Filter by profiles */
                profile_id?: string[];
                /** @description Created strictly before; at most 9 fraction digits */
                "created_at.lt"?: string;
                /** @description Created at or before; at most 9 fraction digits */
                "created_at.lte"?: string;
                /** @description Created exactly at; at most 9 fraction digits */
                "created_at.eq"?: string;
                /** @description Created at or after; at most 9 fraction digits */
                "created_at.gte"?: string;
                /** @description Created strictly after; at most 9 fraction digits */
                "created_at.gt"?: string;
                /** @description Ordering method */
                order_by?: "CREATED_AT";
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["LedgerEntry"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postLedgerEntries: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    kind: "desk_hedge" | "desk_funding" | "desk_withdrawal" | "fee_sweep" | "network_cost" | "debt_repayment" | "write_off";
                    /** @description Two for `desk_hedge`, one IN and one OUT; one for every other kind */
                    legs: {
                        asset: string;
                        /** @description Decimal text above zero */
                        amount: string;
                        /**
                         * @description Into or out of the desk or the fees; may be absent where the kind fixes it
                         * @enum {string}
                         */
                        direction?: "IN" | "OUT";
                    }[];
                    /** @description Of `debt_repayment` and `write_off`, and only of them */
                    profile_id?: string;
                    /** @description Your own name of it: booked once */
                    reference: string;
                    reason: string;
                    /** @description When it happened; absent: now */
                    effective_at?: string;
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerEntry"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin.insufficient_funds"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getLedgerEntriesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerEntry"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postLedgerEntriesByIdReverse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerEntry"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getRules: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                status?: "ACTIVE" | "DELETED" | "PENDING" | "REJECTED";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OperatorRule"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getRulesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorRule"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postRulesByIdApprove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Required while `operator.four_eyes` lists `approvals`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorRule"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin.quota_exceeded.account_blocked"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers.daily_quota_exceeded"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.address_unavailable.pool_empty.pool_reserved"];
            default: components["responses"]["Problem"];
        };
    };
    postRulesByIdReject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorRule"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postRulesByIdDelete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorRule"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getRulesByIdNotes: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewNotePage"];
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postRulesByIdNotes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description At most 200 notes belong to one record. Repeating the newest one adds none */
                    text: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewNote"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin.quota_exceeded"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDeposits: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                status?: "PENDING" | "COMPLETED" | "FAILED";
                secondary_status?: "HELD" | "REJECTED" | "REVERSED" | "RETURNED";
                disposition?: "ORCHESTRATED" | "NO_RULE" | "RULE_NOT_ACTIVE" | "NETWORK_MISMATCH" | "ASSET_MISMATCH" | "NOT_CONVERTIBLE" | "BELOW_MINIMUM" | "ACCOUNT_BLOCKED" | "CUSTOMER_DISABLED" | "PAUSED" | "RECEIVABLE" | "HELD" | "REVIEW" | "ASSIGNED" | "CORRECTED" | "UNATTRIBUTED";
                customer_id?: string;
                profile_id?: string;
                asset?: string;
                unattributed?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Deposit"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDeposits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    source: string;
                    external_id: string;
                    asset: string;
                    amount: string;
                    crypto?: {
                        /** @enum {string} */
                        network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON";
                        address: string;
                        tx_hash: string;
                        tx_index: number;
                    };
                    fiat?: {
                        /** @enum {string} */
                        network: "WIRE" | "CUBIX";
                        memo_id?: string;
                        remittance?: string;
                        bank_reference?: string;
                        sender?: string;
                    };
                    /** @enum {string} */
                    status?: "PENDING" | "COMPLETED" | "FAILED";
                    confirmations?: number;
                    occurred_at: string;
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                } | {
                    deposits: unknown[];
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"] | {
                        /** @description Number of results with a problem */
                        failed: number;
                        results: {
                            /**
                             * @description What the report did; absent of one with a problem
                             * @enum {string}
                             */
                            status?: "created" | "changed" | "known";
                            deposit?: components["schemas"]["Deposit"];
                            /** @description Why this report was not recorded, as in an error */
                            problem?: {
                                [key: string]: unknown;
                            };
                        }[];
                    };
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.outside_binding.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.deposit_conflict.ambiguous_payment"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDepositsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDepositsByIdTrace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DepositTrace"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDepositsByIdAssign: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    profile_id: string;
                    run_rules?: boolean;
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDepositsByIdCorrect: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Default: as it is, in the asset */
                    amount?: string;
                    asset?: string;
                    profile_id?: string;
                    /** @description Whether rules apply to the new credit; default false */
                    run_rules?: boolean;
                    reason: string;
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDepositsByIdHold: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDepositsByIdRelease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDepositsByIdReject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDepositsByIdReverse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                    /** @description Required while `operator.four_eyes` lists `settlements`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDepositsByIdReturn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                    crypto?: {
                        address: string;
                        /** @enum {string} */
                        network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON";
                    };
                    fiat?: {
                        fiat_account_id: string;
                        memo?: string;
                        /** @enum {string} */
                        network?: "WIRE" | "CUBIX";
                    };
                    /** @description Required while `operator.four_eyes` lists `settlements`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deposit"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request.own_address"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getOrchestrations: {
        parameters: {
            query?: {
                /** @description Filter by statuses */
                status?: ("PROCESSING" | "COMPLETED" | "FAILED")[];
                /** @description Filter by reasons to wait */
                waiting_for?: ("PRICE" | "PEG" | "SLIPPAGE" | "DESK_LIMIT" | "HOLD" | "PAUSED" | "OPERATOR")[];
                /** @description Filter by customers */
                customer_id?: string[];
                /** @description Filter by profiles */
                profile_id?: string[];
                /** @description Filter by rules */
                orchestration_rule_id?: string[];
                /** @description Filter by deposits */
                deposit_id?: string[];
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OperatorOrchestration"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getOrchestrationsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorOrchestration"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postOrchestrationsByIdRetry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorOrchestration"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin.insufficient_funds"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postOrchestrationsByIdRelease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Required while `operator.four_eyes` lists `deposits`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorOrchestration"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postOrchestrationsByIdReject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorOrchestration"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getOrchestrationsByIdPrice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Price"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDesk: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["DeskItem"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDeliveries: {
        parameters: {
            query?: {
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                order?: "ASC" | "DESC";
                page_cursor?: string;
                status?: "WAITING" | "CLAIMED" | "SENT" | "SETTLED" | "FAILED" | "NEEDS_OPERATOR";
                profile_id?: string;
                orchestration_id?: string;
                executor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Delivery"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getDeliveriesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDeliveriesClaim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    executor: string;
                    limit: number;
                    lease_seconds: number;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Delivery"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDeliveriesByIdClaim: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    lease_seconds: number;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.outside_binding.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDeliveriesByIdSettle: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reference: string;
                    attempt: number;
                    fee?: string;
                    late?: boolean;
                    /** @description Required while `operator.four_eyes` lists `settlements`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.outside_binding.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    postDeliveriesByIdFail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                    attempt: number;
                    /**
                     * @description States that no attempt without a result was paid or ever will be; needed when there is one
                     * @enum {string}
                     */
                    earlier_attempts?: "not_paid";
                    /** @description Required while `operator.four_eyes` lists `settlements`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.outside_binding.csrf_failed.foreign_origin"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists.invalid_state.earlier_attempt_unknown"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    getControls: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Controls"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
    patchControls: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Each member replaces the list of its kind; absent: unchanged */
                    paused: {
                        assets?: string[];
                        networks?: string[];
                        pairs?: string[];
                        deliveries?: boolean;
                    };
                    /** @description Required while `operator.four_eyes` lists `controls`, and accepted only then */
                    comment?: string;
                };
            };
        };
        responses: {
            /** @description The answer of the call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Controls"];
                };
            };
            /** @description Recorded as a change request, and not carried out yet */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request: components["schemas"]["ChangeRequest"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token.session_ended"];
            403: components["responses"]["403.insufficient_role.csrf_failed.foreign_origin"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            421: components["responses"]["421.misdirected_request"];
            429: components["responses"]["429.too_many_unread_answers"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
            default: components["responses"]["Problem"];
        };
    };
}
