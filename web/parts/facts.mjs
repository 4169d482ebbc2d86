import { counted, dollars, moment } from '../format.mjs';
import { html } from '../html.mjs';

/** The facts shown next to an agent. */
export function Facts({ row, data }) {
  if (!data) return html`<aside class="facts" aria-label="Facts"></aside>`;
  const { usage, worktree, squad } = data;
  const enforced =
    data.access === 'full' ? 'no limit to enforce' : data.enforcement;
  return html`
    <aside class="facts" aria-label="Facts">
      <dl>
        <${Fact} name="Engine">${data.label}<//>
        <${Fact} name="Model">${row.model}<//>
        <${Fact} name="Access">${data.access} <small>${enforced === 'asked' ? 'only asked for' : enforced}</small><//>
        ${data.tools === null ? null : html`<${Fact} name="Tools">${data.tools}<//>`}
        <${Fact} name="Directory"><code>${data.cwd}</code><//>
        ${worktree ? html`<${Fact} name="Branch"><code>${worktree.branch}</code><//>` : null}
        <${Fact} name="Asked by">${data.client ?? 'the command line'}<//>
        ${squad ? html`<${Fact} name="Squad"><a href="/squads">${squad.squadId}</a> <small>${squad.roleId}</small><//>` : null}
        <${Fact} name="Created"><span class="num">${moment(data.created_at)}</span><//>
        ${data.started_at ? html`<${Fact} name="Started"><span class="num">${moment(data.started_at)}</span><//>` : null}
        ${data.completed_at ? html`<${Fact} name="Ended"><span class="num">${moment(data.completed_at)}</span><//>` : null}
        <${Fact} name="Cost"><span class="num">${dollars(row.cost_usd) || 'unknown'}</span><//>
        ${usage ? html`<${Fact} name="Tokens"><span class="num">${usage.prompt_tokens.toLocaleString('en')} in, ${usage.completion_tokens.toLocaleString('en')} out</span><//>` : null}
        ${data.exit_code === null || data.exit_code === undefined ? null : html`<${Fact} name="Exit code"><span class="num">${data.exit_code}</span><//>`}
        ${data.session_id ? html`<${Fact} name="Session"><code>${data.session_id}</code><//>` : null}
        ${data.timeout_seconds > 0 ? html`<${Fact} name="Time limit"><span class="num">${counted(data.timeout_seconds, 'second')}</span><//>` : null}
      </dl>
      <${Relatives} all=${data.relatives} />
    </aside>`;
}

function Fact({ name, children }) {
  return html`<div class="fact-row"><dt>${name}</dt><dd>${children}</dd></div>`;
}

const relations = {
  parent: 'Started by',
  continues: 'Continues',
  continued_by: 'Continued by',
  child: 'Its agents'
};

function Relatives({ all }) {
  return Object.entries(relations).map(([relation, title]) => {
    const found = all.filter((one) => one.relation === relation);
    if (found.length === 0) return null;
    return html`
      <h2>${title}</h2>
      <ul class="relatives">${found.map((one) => html`<li><a href=${`/agents/${one.agent_id}`}>${one.agent_id}</a> ${one.engine}<p>${one.task}</p></li>`)}</ul>`;
  });
}
