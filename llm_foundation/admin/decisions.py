"""What every page does after somebody has decided: log it, say what came of it, and go to what waits next."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from llm_foundation.admin.decision_outcome import LOGGED, next_url, told, verdict_on
from llm_foundation.admin.records import RecordAdmin
from llm_foundation.models import Run, RunToolCall


class DecisionsMixin(RecordAdmin):
    def decided(self, request: HttpRequest, run: Run, call: RunToolCall) -> HttpResponse:
        """``run`` and ``call`` as they are after the decision."""
        self.log_change(request, call, str(LOGGED[verdict_on(call)]))
        messages.add_message(request, *told(run, call, by=request.user))
        return HttpResponseRedirect(next_url(run, call, by=request.user))
