import { useMemo } from 'preact/hooks';
import { counted, moment } from '../format.mjs';
import { html } from '../html.mjs';
import { blocksOf, Markdown } from '../markdown.mjs';
import { Ago } from '../parts/age.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { useData } from '../parts/load.mjs';
import { Status } from '../parts/status.mjs';
import { totals } from '../store.mjs';

export function Council() {
  const { data, error } = useData(
    '/web/council',
    totals.value?.value.stamps.council
  );
  if (!data) return html`<${Head} /><${Loading} error=${error} />`;
  if (!data.session)
    return html`<${Head} /><${Empty} title="No council has been started."><p>A client opens one with the tool <code>start_council</code>; every agent can then join it.</p><//>`;
  const { session, request, responses, participants, summons } = data;
  return html`
    <${Head}>
      <${Status} of=${session.status} /> <span>since ${moment(session.created_at)}</span>
      <span>${counted(data.responses_total, 'response')}</span>
    <//>
    ${session.conclusion ? html`<section aria-labelledby="conclusion"><h2 id="conclusion">Conclusion <span class="count">by ${session.conclusion.author}</span></h2><${Text} of=${session.conclusion} /></section>` : null}
    <section aria-labelledby="request">
      <h2 id="request">Request <span class="count">by ${request.created_by}, <${Ago} at=${request.created_at} /></span></h2>
      <${Text} of=${request} />
    </section>
    <${Attendance} participants=${participants} summons=${summons} />
    <section aria-labelledby="responses">
      <h2 id="responses">Responses</h2>
      ${responses.length === 0 ? html`<p class="note">No agent has responded yet.</p>` : null}
      <div class="responses">
        ${responses.map(
          (response) => html`
          <article key=${response.id} class="response" aria-label=${`Response of ${response.author}`}>
            <header><span class="who">${response.author}</span> <span class="when"><${Ago} at=${response.created_at} /></span></header>
            <${Text} of=${response} />
          </article>`
        )}
      </div>
    </section>`;
}

function Head({ children }) {
  return html`<header class="top"><div><h1>Council</h1><p class="summary">${children}</p></div></header>`;
}

function Text({ of: { content, content_chars: chars } }) {
  const blocks = useMemo(() => blocksOf(content), [content]);
  return html`<${Markdown} blocks=${blocks} />${chars > content.length ? html`<p class="note">The rest of ${counted(chars, 'character')} is left out.</p>` : null}`;
}

function Attendance({ participants, summons }) {
  if (participants.length + summons.length === 0) return null;
  return html`
    <section aria-labelledby="attendance">
      <h2 id="attendance">Participants</h2>
      <ul class="chips">
        ${participants.map((one) => html`<li>${one.agent_name} <small>${one.responses > 0 ? counted(one.responses, 'response') : one.has_request ? 'has read the request' : 'has not read the request'}</small></li>`)}
        ${summons.map((one) => html`<li>${one.agent_name} <${Status} of=${one.status} /> <a href=${`/agents/${one.agent_id}`}>${one.agent_id}</a></li>`)}
      </ul>
    </section>`;
}
