// A certified OpenID provider with one client and two people, who sign in by name
// with any password. It prints its issuer when it listens.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const { CLIENT_ID, CLIENT_SECRET, CLIENT_URL } = process.env;

const people = {
  ana: { name: 'Ana Ortiz', email: 'ana@example.com', email_verified: true, groups: ['everybody', 'filing-ops'] },
  ben: { name: 'Ben Novak', email: 'ben@example.com', email_verified: true, groups: ['everybody'] },
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://localhost:${server.address().port}`;
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const provider = new Provider(issuer, {
    clients: [{
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [`${CLIENT_URL}/sign-in/provider/callback`],
      post_logout_redirect_uris: [`${CLIENT_URL}/sign-in`],
    }],
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    jwks: { keys: [{ ...key, use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    features: { devInteractions: { enabled: true } },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  });
  server.on('request', provider.callback());
  console.log(`issuer ${issuer}`);
});
