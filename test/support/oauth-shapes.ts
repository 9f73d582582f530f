import type { FetchDocument } from '../../src/market/connect/connector.ts';

/** A client's public data: its own description and its redirect URI. */
export interface ClientShape {
  /** Client metadata document with its client_id. Omitted if the client registers itself. */
  document?: Readonly<Record<string, unknown>> & { client_id: string };
  registration?: Readonly<Record<string, unknown>>;
  redirectUri: string;
  scope?: string;
  /** True if the client omits the resource parameter, as some versions do. */
  withoutResource?: true;
}

const REFRESHING = ['authorization_code', 'refresh_token'];
const hostedWebId = 'https://claude.ai/oauth/mcp-oauth-client-metadata';
const hostedTerminalId = 'https://claude.ai/oauth/claude-code-client-metadata';

/** Clients as they are published or registered, in the forms that real ones use. */
export const CLIENT_SHAPES = {
  claudeWeb: {
    document: {
      client_id: hostedWebId,
      client_name: 'Hosted assistant',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      grant_types: REFRESHING,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    scope: 'market:read market:me offline_access',
  },
  // Has no application type. Its registered redirects have no port, but requests use a random one.
  claudeCode: {
    document: {
      client_id: hostedTerminalId,
      client_name: 'Terminal assistant',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      grant_types: REFRESHING,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'http://localhost:52163/callback',
    withoutResource: true,
  },
  chatgpt: {
    document: {
      client_id: 'https://chatgpt.com/oauth/client.json',
      client_name: 'ChatGPT',
      client_uri: 'https://chatgpt.com',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      grant_types: REFRESHING,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      scope: 'openid offline_access',
    },
    redirectUri: 'https://chatgpt.com/connector_platform_oauth_redirect',
    scope: 'market:read market:me market:write offline_access',
  },
  // One of many apps, each with its own URL.
  chatgptApp: {
    document: {
      client_id: 'https://chatgpt.com/oauth/app-6f3a/client.json',
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector/oauth/app-6f3a'],
      grant_types: REFRESHING,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'https://chatgpt.com/connector/oauth/app-6f3a',
    scope: 'market:read market:me market:write offline_access',
  },
  // Has three kinds of redirects and no application type.
  cursor: {
    registration: {
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
      grant_types: REFRESHING,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp:tools profile',
    },
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback',
    scope: 'market:read',
  },
  // Includes a grant type that this server does not support.
  vscode: {
    document: {
      client_id: 'https://vscode.dev/oauth/client-metadata.json',
      client_name: 'Visual Studio Code',
      client_uri: 'https://vscode.dev/product',
      logo_uri: 'https://vscode.dev/static/stable/code-stable.png',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect', 'https://insiders.vscode.dev/redirect'],
      grant_types: [...REFRESHING, 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    redirectUri: 'http://127.0.0.1:41999/',
    scope: 'market:read market:me',
  },
  opencode: {
    document: {
      client_id: 'https://opencode.ai/oauth/opencode/client.json',
      client_name: 'OpenCode',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: REFRESHING,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'http://127.0.0.1:19876/callback',
  },
  codex: {
    document: {
      client_id: 'https://chatgpt.com/oauth/codex/client.json',
      client_name: 'Codex',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
      grant_types: REFRESHING,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirectUri: 'http://127.0.0.1:1455/callback',
    scope: 'market:read market:me',
  },
} as const satisfies Record<string, ClientShape>;

/** Serves these documents and no others. */
export function publishDocuments(more: readonly Readonly<Record<string, unknown>>[] = []): FetchDocument {
  const shapes: readonly ClientShape[] = Object.values(CLIENT_SHAPES);
  const all = [...shapes.flatMap(({ document }) => document ?? []), ...more];
  return async (url) => {
    const document = all.find(({ client_id: id }) => id === url);
    return document === undefined ? new Response('nothing here', { status: 404 }) : Response.json(document);
  };
}
