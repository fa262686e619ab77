{{- /* Written by `npm run generate` from src/programs/start-options.ts and the agent's shutdown-times.ts. Change it there. */}}
{{- define "joulie.start.operator" -}}
command: ["/usr/local/bin/node", "--max-semi-space-size=8", "--max-old-space-size=256", "/app/joulie.mjs"]
{{- end }}
{{- define "joulie.startEnvironment.operator" -}}
{{- end }}
{{- define "joulie.start.agent" -}}
command: ["/usr/local/bin/node", "--max-semi-space-size=1", "--wasm-tiering-budget=2000000000", "/app/joulie.mjs"]
{{- end }}
{{- define "joulie.startEnvironment.agent" -}}
- name: MALLOC_ARENA_MAX
  value: "1"
{{- end }}
{{- define "joulie.start.agentPool" -}}
command: ["/usr/local/bin/node", "--max-semi-space-size=1", "/app/joulie.mjs"]
{{- end }}
{{- define "joulie.startEnvironment.agentPool" -}}
- name: MALLOC_ARENA_MAX
  value: "1"
{{- end }}
{{- define "joulie.start.extender" -}}
command: ["/usr/local/bin/node", "--max-semi-space-size=1", "--no-parallel-scavenge", "--expose-gc", "/app/joulie.mjs"]
{{- end }}
{{- define "joulie.startEnvironment.extender" -}}
- name: MALLOC_ARENA_MAX
  value: "1"
{{- end }}
{{- define "joulie.start.power" -}}
command: ["/usr/local/bin/node", "--max-semi-space-size=1", "/app/joulie.mjs"]
{{- end }}
{{- define "joulie.startEnvironment.power" -}}
- name: MALLOC_ARENA_MAX
  value: "1"
{{- end }}
{{- define "joulie.start.dashboard" -}}
command: ["/usr/local/bin/node", "--max-semi-space-size=8", "--max-old-space-size=256", "/app/joulie.mjs"]
{{- end }}
{{- define "joulie.startEnvironment.dashboard" -}}
{{- end }}
{{- define "joulie.shortestGrace" -}}
30
{{- end }}
