{{- define "joulie.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "joulie.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "joulie.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "joulie.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Labels that select the pods of a program: (list . "agent") */}}
{{- define "joulie.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "joulie.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels of an object of a program: (list . "agent") */}}
{{- define "joulie.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
{{ include "joulie.selector" . }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "joulie.image" -}}
{{- $image := .Values.image -}}
{{- if not $image.repository }}
{{- fail "image.repository is not set, and no image of Joulie is published yet: build one with `npm run image`, bring it to the nodes or to a registry (docs/guides/install.md), and set image.repository and image.tag" }}
{{- end }}
{{- if and $image.tag $image.digest }}
{{- fail "image.tag and image.digest are both set; set one of them" }}
{{- end }}
{{- if eq $image.tag "latest" }}
{{- fail "image.tag is latest, which is a different image tomorrow; name a version, or set image.digest" }}
{{- end }}
{{- if not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$" $image.tag) }}
{{- fail (printf "image.tag %q is not a tag: it may have letters, digits, dots, underscores and hyphens, at most 128, and does not begin with a dot or a hyphen" $image.tag) }}
{{- end }}
{{- if regexMatch "(@|:[^/]*$)" $image.repository }}
{{- fail (printf "image.repository %s contains a tag or digest; set image.tag or image.digest instead" $image.repository) }}
{{- end }}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* Variables of a program: (dict "root" . "env" .Values.agent.env) */}}
{{- define "joulie.env" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- range $name, $value := .env }}
- name: {{ $name }}
  {{- /* A number of a values file prints as 1.5e+06 otherwise. */}}
  value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}
{{- end }}
{{- end }}

{{/* The preset. mode=enforce is older than presets, and meant the documented defaults. */}}
{{- define "joulie.preset" -}}
{{- $preset := .Values.preset | default "observe" }}
{{- ternary "partition" $preset (and (eq .Values.mode "enforce") (eq $preset "observe")) }}
{{- end }}

{{/* A variable of a program: its own value, else that of the preset, else its default: (list . "extender" "SCORING" "headroom") */}}
{{- define "joulie.variable" -}}
{{- $root := index . 0 }}{{ $program := index . 1 }}{{ $name := index . 2 }}
{{- $sets := index (include "joulie.presets" $root | fromJson) (include "joulie.preset" $root) }}
{{- $byPreset := get (get $sets $program | default dict) $name | default (index . 3) }}
{{- get (index $root.Values $program "env") $name | default $byPreset }}
{{- end }}

{{/* Not empty if the agents of some nodes control NVIDIA GPUs. */}}
{{- define "joulie.hasNvidiaAgents" -}}
{{- range include "joulie.agentKinds" . | fromJsonArray }}{{ if .values.gpu.nvidia.enabled }}true{{ end }}{{ end }}
{{- end }}

{{/* Not empty if agents set no cap. */}}
{{- define "joulie.observes" -}}
{{- if or (eq .Values.mode "observe") (eq (include "joulie.variable" (list . "agent" "SIMULATE_ONLY" "false")) "true") }}true{{ end }}
{{- end }}

{{/* How the extender scores: headroom or energy. */}}
{{- define "joulie.scoring" -}}
{{ include "joulie.variable" (list . "extender" "SCORING" "headroom") }}
{{- end }}

{{/* Whether nodes sleep: off, recommend or on. */}}
{{- define "joulie.sleepMode" -}}
{{ .Values.sleep.mode | default (include "joulie.variable" (list . "operator" "SLEEP_MODE" "off")) }}
{{- end }}

{{/*
Not empty if the power program is installed. One that is there stays while there are PowerEndpoints or sleeping nodes:
without it nothing would wake them. Helm cannot see them where it renders without a cluster.
*/}}
{{- define "joulie.hasPower" -}}
{{- if or .Values.power.enabled (ne (include "joulie.sleepMode" .) "off") -}}
true
{{- else if lookup "apps/v1" "Deployment" .Release.Namespace (printf "%s-power" (include "joulie.fullname" .)) -}}
{{- /* Helm fails if it looks up a kind that the cluster does not have. */}}
{{- $kept := and (.Capabilities.APIVersions.Has "joulie.io/v1alpha1/PowerEndpoint") (lookup "joulie.io/v1alpha1" "PowerEndpoint" "" "").items }}
{{- range (lookup "v1" "Node" "" "").items }}
{{- range .spec.taints }}{{ if eq .key "joulie.io/asleep" }}{{ $kept = true }}{{ end }}{{ end }}
{{- end }}
{{- if $kept }}true{{ end }}
{{- end }}
{{- end }}

{{/* Security context of a container without rights. */}}
{{- define "joulie.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end }}

{{/* Security context of a pod that runs as no special user. OpenShift chooses user and groups itself, and rejects ours. */}}
{{- define "joulie.podSecurity" -}}
runAsNonRoot: true
{{- if not .Values.openshift.scc }}
runAsUser: 65532
runAsGroup: 65532
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The same, for a pod that reads or writes volumes. */}}
{{- define "joulie.podSecurityWithVolumes" -}}
{{ include "joulie.podSecurity" . }}
{{- if not .Values.openshift.scc }}
fsGroup: 65532
{{- end }}
{{- end }}

{{/* Probes on a port with this name: /livez and /readyz. */}}
{{- define "joulie.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: {{ . }}}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: {{ . }}}
  periodSeconds: 15
  timeoutSeconds: 5
  failureThreshold: 4
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* A peer of a NetworkPolicy: the dashboard, which reads debug pages. */}}
{{- define "joulie.fromDashboard" -}}
- podSelector:
    matchLabels:
      {{- include "joulie.selector" (list . "dashboard") | nindent 6 }}
{{- end }}

{{/* Replicas on different nodes where possible: (list . "operator") */}}
{{- define "joulie.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "joulie.selector" . | nindent 6 }}
{{- end }}

{{/* `joulie check` with the arguments that describe this installation, as JSON. */}}
{{- define "joulie.checkArgs" -}}
{{- $programs := list (ternary "extender-energy" "extender" (eq (include "joulie.scoring" .) "energy")) }}
{{- if .Values.operator.enabled }}{{ $programs = prepend $programs (ternary "operator" "operator-sleep" (eq (include "joulie.sleepMode" .) "off")) }}{{ end }}
{{- if .Values.agent.enabled }}{{ $programs = prepend $programs (ternary "agent-pool" "agent" (eq .Values.agent.mode "pool")) }}{{ end }}
{{- if include "joulie.hasPower" . }}{{ $programs = append $programs "power" }}{{ end }}
{{- $args := list "check" "--namespace" .Release.Namespace "--name" (include "joulie.fullname" .) "--programs" (join "," $programs) }}
{{- $args = concat $args (list "--service" .Values.extender.service.name) }}
{{- with .Values.operator.env.NODE_SELECTOR }}{{ $args = concat $args (list "--node-selector" .) }}{{ end }}
{{- toJson $args }}
{{- end }}

{{/* The seconds of durations: (list "1h30m" "2m") */}}
{{- define "joulie.seconds" -}}
{{- $start := toDate "2006-01-02" "2000-01-01" }}
{{- $end := $start }}
{{- range . }}{{ $end = mustDateModify . $end }}{{ end }}
{{- sub (unixEpoch $end) (unixEpoch $start) }}
{{- end }}

{{/*
A Job of a Helm hook: (list . NAME HOOK SERVICE-ACCOUNT ARGS DURATIONS). The program waits by itself, so a failed pod is
not repeated; one that was evicted is. The deadline ends the Job after DURATIONS, which include pulling the image.
*/}}
{{- define "joulie.hookJob" -}}
{{- $root := index . 0 -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "joulie.fullname" $root }}-{{ index . 1 }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "joulie.labels" (list $root (index . 1)) | nindent 4 }}
  annotations:
    helm.sh/hook: {{ index . 2 }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    # Helm prints what the Job says.
    helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
spec:
  backoffLimit: 0
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
            status: "True"
  activeDeadlineSeconds: {{ include "joulie.seconds" (index . 5) }}
  template:
    metadata:
      labels:
        {{- include "joulie.labels" (list $root (index . 1)) | nindent 8 }}
    spec:
      serviceAccountName: {{ include "joulie.fullname" $root }}-{{ index . 3 }}
      restartPolicy: Never
      # Not behind pods that wait for a node, or for an extender that kube-scheduler cannot reach.
      priorityClassName: {{ $root.Values.operator.priorityClassName }}
      {{- with $root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.operator.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.operator.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "joulie.podSecurity" $root | nindent 8 }}
      containers:
        - name: {{ index . 1 }}
          image: {{ include "joulie.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: {{ index . 4 | toJson }}
          resources:
            requests: {cpu: 10m, memory: 64Mi}
            limits: {memory: 256Mi}
          securityContext:
            {{- include "joulie.containerSecurity" $root | nindent 12 }}
{{- end }}
